// The local files and trees of Butane configs: a folder that nothing is read outside of.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/fd.h"
#include "ignition/butane/butane.h"

namespace strake::cmd {

/// What one run may read, so that a careless path (a cache, a disk image) ends in words.
inline constexpr std::size_t kMaxLocalFileBytes = std::size_t{32} << 20;
inline constexpr std::size_t kMaxLocalBytes = std::size_t{128} << 20;
inline constexpr std::size_t kMaxLocalEntries = 20'000;

/// Links are followed as long as they stay below the folder; one that leads out is refused, wherever in a path it is.
class LocalFolder final : public ignition::LocalFiles {
 public:
  static Result<LocalFolder> open(const std::string& path);

  Result<std::string> read(const std::string& path) override;
  Result<std::vector<ignition::LocalEntry>> walk(const std::string& path) override;

 private:
  LocalFolder(std::string path, Fd folder) : path_(std::move(path)), folder_(std::move(folder)) {}

  Result<Fd> open_below(const std::string& path, int flags) const;
  Result<std::string> read_open(const Fd& file, const std::string& path);
  Status walk_folder(const std::string& path, const std::string& shown, int depth,
                     std::vector<ignition::LocalEntry>& entries);
  Status add_entry(int folder, const std::string& path, const std::string& shown, int depth,
                   std::vector<ignition::LocalEntry>& entries);

  std::string path_;
  Fd folder_;
  std::size_t bytes_ = 0;
  std::size_t entries_ = 0;
};

}  // namespace strake::cmd
