#include "oci/partial_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "codec/stream.h"

namespace strake::oci {

namespace {

constexpr std::chrono::milliseconds kLockPause{50};
constexpr std::size_t kHashBytes = 256u << 10;
constexpr mode_t kBlobFileMode = 0644;

Result<bool> is_complete(const BlobFilePaths& paths, const Descriptor& descriptor) {
  struct stat info{};
  if (::stat(paths.complete.c_str(), &info) != 0) {
    if (errno == ENOENT) return false;
    return errno_error(errno, paths.complete.string());
  }
  // Of another size it is damaged: the rename at the end replaces it.
  return S_ISREG(info.st_mode) && static_cast<std::uint64_t>(info.st_size) == descriptor.size;
}

/// The file may have been renamed or removed by whoever held the lock before us.
bool still_named(const Fd& fd, const std::filesystem::path& path) {
  struct stat held{}, named{};
  return ::fstat(fd.get(), &held) == 0 && ::stat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
         held.st_dev == named.st_dev;
}

Status empty_file(const Fd& fd, const std::filesystem::path& path) {
  if (::ftruncate(fd.get(), 0) != 0 || ::lseek(fd.get(), 0, SEEK_SET) < 0) return errno_error(errno, path.string());
  return {};
}

/// Hashes what an earlier fetch left; leaves the file position at its end.
Result<std::uint64_t> hash_existing(const Fd& fd, const std::filesystem::path& path, codec::Hasher& hasher) {
  if (::lseek(fd.get(), 0, SEEK_SET) < 0) return errno_error(errno, path.string());
  codec::FdSource source(fd.get(), path.string());
  std::array<std::byte, kHashBytes> buffer;
  std::uint64_t size = 0;
  for (;;) {
    STRAKE_TRY(const std::size_t got, source.read(buffer));
    if (got == 0) return size;
    hasher.update(std::span<const std::byte>(buffer).first(got));
    size += got;
  }
}

struct Filled {
  codec::Digest digest;
  std::uint64_t resumed_at = 0;
};

Result<Filled> fill_locked(const Fd& fd, const BlobFilePaths& paths, const Descriptor& descriptor,
                           const FillBlob& fill) {
  codec::Hasher hasher(descriptor.digest.algorithm());
  STRAKE_TRY(std::uint64_t size, hash_existing(fd, paths.partial, hasher));
  if (size > descriptor.size) {
    STRAKE_CHECK_OK(empty_file(fd, paths.partial));
    hasher = codec::Hasher(descriptor.digest.algorithm());
    size = 0;
  }
  const std::uint64_t resumed_at = size;
  const auto append = [&](std::string_view data) -> Status {
    if (data.size() > descriptor.size - size) {
      return not_genuine("blob {} is longer than the {} bytes its descriptor says", descriptor.digest.to_string(),
                         descriptor.size);
    }
    STRAKE_CHECK_OK(write_all(fd.get(), data).context("writing {}", paths.partial.string()));
    hasher.update(data);
    size += data.size();
    return {};
  };
  if (size < descriptor.size) STRAKE_CHECK_OK(fill(size, append));
  if (size < descriptor.size) {
    return error(Code::kCorrupt, "blob {} ended after {} of {} bytes", descriptor.digest.to_string(), size,
                 descriptor.size);
  }
  return Filled{std::move(hasher).finish(), resumed_at};
}

Status fetch_locked(const Fd& fd, const BlobFilePaths& paths, const Descriptor& descriptor, const FillBlob& fill) {
  for (;;) {
    STRAKE_TRY(const Filled filled, fill_locked(fd, paths, descriptor, fill));
    if (filled.digest == descriptor.digest) break;
    STRAKE_CHECK_OK(empty_file(fd, paths.partial));
    // A power loss may have kept the length of an earlier part and not its bytes: once more, from the start.
    if (filled.resumed_at > 0) continue;
    std::error_code ignored;
    std::filesystem::remove(paths.partial, ignored);
    return not_genuine("the fetched blob has digest {}, not {}; whoever serves it changed or damaged it",
                       filled.digest.to_string(), descriptor.digest.to_string());
  }
  if (::fsync(fd.get()) != 0) return errno_error(errno, paths.partial.string());
  if (::rename(paths.partial.c_str(), paths.complete.c_str()) != 0) {
    return errno_error(errno, fmt::format("renaming {} to {}", paths.partial.string(), paths.complete.string()));
  }
  return {};
}

}  // namespace

Result<bool> try_lock_file(const Fd& fd) {
  int outcome = -1;
  do outcome = ::flock(fd.get(), LOCK_EX | LOCK_NB);
  while (outcome != 0 && errno == EINTR);
  if (outcome == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  return errno_error(errno, "locking a file");
}

Status lock_file(const Fd& fd, runtime::Runtime& runtime, const runtime::Call& call) {
  for (;;) {
    STRAKE_TRY(const bool locked, try_lock_file(fd));
    if (locked) return {};
    if (call.deadline && runtime.now() >= *call.deadline) {
      return error(Code::kTimeout, "another process holds the lock");
    }
    STRAKE_CHECK_OK(runtime.sleep(kLockPause, call.stop));
  }
}

Result<FileFetch> fetch_to_file(const BlobFilePaths& paths, const Descriptor& descriptor, const FillBlob& fill,
                                runtime::Runtime& runtime, const runtime::Call& call) {
  for (;;) {
    STRAKE_TRY(const bool before, is_complete(paths, descriptor));
    if (before) return FileFetch::kPresent;
    STRAKE_TRY(const Fd fd, open_file(paths.partial, O_RDWR | O_CREAT | O_NOFOLLOW, kBlobFileMode));
    STRAKE_CHECK_OK(lock_file(fd, runtime, call).context("waiting for {}", paths.partial.string()));
    if (!still_named(fd, paths.partial)) continue;
    STRAKE_TRY(const bool meanwhile, is_complete(paths, descriptor));
    if (meanwhile) {
      std::error_code ignored;
      std::filesystem::remove(paths.partial, ignored);
      return FileFetch::kPresent;
    }
    STRAKE_CHECK_OK(fetch_locked(fd, paths, descriptor, fill));
    return FileFetch::kFetched;
  }
}

}  // namespace strake::oci
