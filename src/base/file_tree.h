// A tree of files that a node's agent changes: below a folder of the machine (or its root), or in memory for
// simulation.
//
// Paths are absolute and clean ("/etc/x"); the tree is their root. Every change is atomic (a reader sees old or new)
// and durable on return.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace strake {

struct FileOwner {
  std::optional<std::int64_t> user_id;
  std::optional<std::int64_t> group_id;

  bool operator==(const FileOwner&) const = default;
};

struct FileState {
  enum class Kind { kFile, kLink, kDirectory };
  Kind kind = Kind::kFile;
  std::uint32_t mode = 0;
  std::string contents;  ///< of a file; the target of a link
  FileOwner owner;

  bool operator==(const FileState&) const = default;
};

class FileTree {
 public:
  virtual ~FileTree() = default;

  /// nullopt when nothing is there.
  virtual Result<std::optional<FileState>> read(const std::string& path) = 0;
  /// Creates missing parent folders with mode 0755.
  virtual Status write(const std::string& path, std::string_view contents, std::uint32_t mode,
                       const FileOwner& owner) = 0;
  virtual Status write_link(const std::string& path, const std::string& target) = 0;
  /// Removing what is not there is fine. Not for folders.
  virtual Status remove(const std::string& path) = 0;
  /// A folder that is already there stays as it is.
  virtual Status make_folder(const std::string& path) = 0;
  /// Refuses a folder that holds anything. Removing what is not there is fine.
  virtual Status remove_folder(const std::string& path) = 0;
  /// Names in a folder, sorted; none when the folder does not exist.
  virtual Result<std::vector<std::string>> list(const std::string& path) = 0;
};

/// Below a folder of this machine. Links inside it are resolved as if the folder were the root, so nothing outside is
/// ever touched. Owners are set only when `set_owners` (that is, when running as root on a real node).
class DirectoryTree final : public FileTree {
 public:
  DirectoryTree(std::filesystem::path root, bool set_owners) : root_(std::move(root)), set_owners_(set_owners) {}

  Result<std::optional<FileState>> read(const std::string& path) override;
  Status write(const std::string& path, std::string_view contents, std::uint32_t mode, const FileOwner& owner) override;
  Status write_link(const std::string& path, const std::string& target) override;
  Status remove(const std::string& path) override;
  Status make_folder(const std::string& path) override;
  Status remove_folder(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& path) override;

 private:
  std::filesystem::path root_;
  bool set_owners_;
};

/// Folders are real here too: a file cannot stand where a folder is needed, nor the other way round.
class MemoryTree final : public FileTree {
 public:
  Result<std::optional<FileState>> read(const std::string& path) override;
  Status write(const std::string& path, std::string_view contents, std::uint32_t mode, const FileOwner& owner) override;
  Status write_link(const std::string& path, const std::string& target) override;
  Status remove(const std::string& path) override;
  Status make_folder(const std::string& path) override;
  Status remove_folder(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& path) override;

  /// Everything that is there, folders included.
  std::map<std::string, FileState> snapshot() const;

 private:
  Status make_parents_locked(const std::string& path);
  Status put_locked(const std::string& path, FileState state);
  bool is_empty_locked(const std::string& folder) const;

  mutable std::mutex mutex_;
  std::map<std::string, FileState> files_;
};

}  // namespace strake
