#include "pki/private_files.h"

#include <sys/stat.h>

#include <cerrno>

#include "base/fd.h"

namespace strake::pki {

namespace {

constexpr std::size_t kMaxPemFileBytes = 64u << 10;

}  // namespace

Result<PemPair> read_pair(const std::filesystem::path& directory, const std::string& name) {
  const auto read = [&](const char* extension) -> Result<std::string> {
    auto text = read_file(directory / (name + extension), kMaxPemFileBytes);
    if (!text.ok() && text.error().code() == Code::kNotFound) return std::string();
    return text;
  };
  PemPair pair;
  STRAKE_TRY(pair.certificate, read(".crt"));
  STRAKE_TRY(pair.key, read(".key"));
  return pair;
}

Status write_pair(const std::filesystem::path& directory, const std::string& name, const PemPair& pair) {
  STRAKE_CHECK_OK(write_file_atomic(directory / (name + ".key"), pair.key, 0600));
  return write_file_atomic(directory / (name + ".crt"), pair.certificate, 0600);
}

Result<std::optional<FileVersion>> file_version(const std::filesystem::path& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return std::optional<FileVersion>();
    return errno_error(errno, path.string());
  }
  constexpr std::int64_t kNanosecondsASecond = 1'000'000'000;
  return std::optional(
      FileVersion{info.st_ino, info.st_mtim.tv_sec * kNanosecondsASecond + info.st_mtim.tv_nsec, info.st_size});
}

Result<FileLock> lock_for_change(const std::filesystem::path& path) {
  auto lock = FileLock::acquire(path.string() + ".lock");
  if (!lock.ok() && lock.error().reason() == "Locked") {
    return error(Code::kConflict, "{} is {}: try again", path.string(), lock.error().message());
  }
  return lock;
}

}  // namespace strake::pki
