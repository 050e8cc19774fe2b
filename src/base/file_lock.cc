#include "base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace strake {

namespace {

std::string lock_holder(int file) {
  char bytes[32];
  const ssize_t size = pread(file, bytes, sizeof bytes, 0);
  std::string holder;
  for (ssize_t i = 0; i < size && bytes[i] >= '0' && bytes[i] <= '9'; ++i) holder += bytes[i];
  return holder.empty() ? "another process" : "process " + holder;
}

}  // namespace

Result<FileLock> FileLock::acquire(const std::filesystem::path& path) {
  STRAKE_TRY(Fd file, open_file(path, O_RDWR | O_CREAT, 0600));
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return errno_error(errno, fmt::format("locking {}", path.string()));
    return error(Code::kDenied, "in use by {}", lock_holder(file.get())).with_reason("Locked");
  }
  // The number is for people and for the message above; the lock itself is the kernel's.
  if (ftruncate(file.get(), 0) != 0) return errno_error(errno, fmt::format("truncating {}", path.string()));
  STRAKE_CHECK_OK(write_all(file.get(), fmt::format("{}\n", getpid())).context("writing {}", path.string()));
  return FileLock(std::move(file));
}

}  // namespace strake
