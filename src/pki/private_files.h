// Files only their owner may read, and files that several processes read while one changes them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/file_lock.h"
#include "base/result.h"

namespace strake::pki {

/// A certificate with its key, as PEM.
struct PemPair {
  std::string certificate;
  std::string key;
};

/// DIRECTORY/NAME.crt and NAME.key; empty texts for files that do not exist.
Result<PemPair> read_pair(const std::filesystem::path& directory, const std::string& name);
/// Mode 0600. The key is written first: a certificate without its key would look complete.
Status write_pair(const std::filesystem::path& directory, const std::string& name, const PemPair& pair);

/// What tells one version of an atomically replaced file from another: the inode too, because two versions may be
/// equally long and written within one tick of the clock.
struct FileVersion {
  ino_t inode = 0;
  std::int64_t modified_ns = 0;
  std::int64_t size_bytes = 0;
  bool operator==(const FileVersion&) const = default;
};
/// nullopt when there is no such file.
Result<std::optional<FileVersion>> file_version(const std::filesystem::path& path);

/// Held while a file is read, changed and written back, so that no change of another process is lost. kConflict, to be
/// tried again, while another process does the same.
Result<FileLock> lock_for_change(const std::filesystem::path& path);

}  // namespace strake::pki
