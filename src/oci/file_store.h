// Named files that images are read from: those below a folder, or the members of a tar archive.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "codec/stream.h"

namespace strake::oci {

/// An open file that can be read once, from its start.
struct StoredFile {
  std::unique_ptr<codec::Source> content;
  std::uint64_t size = 0;
  std::string name;  ///< for messages
};

class FileStore {
 public:
  virtual ~FileStore() = default;
  /// `name` is relative and clean ("blobs/sha256/..."). kNotFound when there is none.
  virtual Result<StoredFile> open(std::string_view name) const = 0;
  virtual std::string location() const = 0;

  Result<std::string> read(std::string_view name, std::size_t max_bytes) const;
};

class FolderFiles final : public FileStore {
 public:
  explicit FolderFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}
  Result<StoredFile> open(std::string_view name) const override;
  std::string location() const override { return folder_.string(); }

 private:
  std::filesystem::path folder_;
};

/// The files below one folder of another store.
class SubfolderFiles final : public FileStore {
 public:
  /// `folder` is relative and clean.
  SubfolderFiles(std::shared_ptr<const FileStore> files, std::string folder)
      : files_(std::move(files)), folder_(std::move(folder)) {}
  Result<StoredFile> open(std::string_view name) const override {
    return files_->open(fmt::format("{}/{}", folder_, name));
  }
  std::string location() const override { return fmt::format("{}/{}", files_->location(), folder_); }

 private:
  std::shared_ptr<const FileStore> files_;
  std::string folder_;
};

/// Of an archive that is compressed, as `docker save | gzip` makes them.
inline constexpr std::uint64_t kMaxUnpackedArchiveBytes = std::uint64_t{64} << 30;

/// The regular files of a tar archive, found by one pass over its headers and then read in place. A compressed archive
/// is unpacked to a temporary file without a name first; kExhausted when that grows beyond the limit or the disk.
class ArchiveFiles final : public FileStore {
 public:
  static Result<std::unique_ptr<ArchiveFiles>> scan(const std::filesystem::path& archive,
                                                    std::uint64_t max_unpacked_bytes = kMaxUnpackedArchiveBytes);
  /// Only what is in it, without unpacking anything.
  static Result<std::set<std::string>> names(const std::filesystem::path& archive);
  Result<StoredFile> open(std::string_view name) const override;
  std::string location() const override { return path_.string(); }

 private:
  struct Extent {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
  };
  ArchiveFiles(std::filesystem::path path, Fd fd)
      : path_(std::move(path)), fd_(std::make_shared<const Fd>(std::move(fd))) {}

  std::filesystem::path path_;
  std::shared_ptr<const Fd> fd_;  ///< shared with what is being read
  std::map<std::string, Extent, std::less<>> members_;
};

}  // namespace strake::oci
