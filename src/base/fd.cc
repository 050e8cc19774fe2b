#include "base/fd.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace strake {
namespace {

constexpr std::size_t kReadStepBytes = 64 * 1024;

Code code_of_errno(int errno_value) {
  switch (errno_value) {
    case ENOENT:
    case ENOTDIR: return Code::kNotFound;
    case EEXIST: return Code::kExists;
    case EACCES:
    case EPERM:
    case EROFS: return Code::kDenied;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EFBIG: return Code::kExhausted;
    case EINVAL:
    case ENAMETOOLONG: return Code::kInvalidArgument;
    case ETIMEDOUT: return Code::kTimeout;
    case EAGAIN:
    case EBUSY: return Code::kUnavailable;
    case ENOSYS:
    case ENOTSUP: return Code::kUnsupported;
    default: return Code::kIo;
  }
}

/// Reads to the end of the file, or one byte past `limit_bytes`, so that the caller can tell "full" from "too large".
Result<std::string> read_to_end(int fd, std::size_t limit_bytes) {
  std::string bytes;
  for (;;) {
    const std::size_t have = bytes.size();
    if (have > limit_bytes) return bytes;
    const std::size_t step = std::min(kReadStepBytes, limit_bytes - have + 1);
    bytes.resize(have + step);
    const ssize_t count = ::read(fd, bytes.data() + have, step);
    if (count < 0 && errno == EINTR) {
      bytes.resize(have);
      continue;
    }
    if (count < 0) return errno_error(errno, "read");
    bytes.resize(have + static_cast<std::size_t>(count));
    if (count == 0) return bytes;
  }
}

Status sync_directory(const std::filesystem::path& directory) {
  STRAKE_TRY(Fd fd, open_file(directory, O_RDONLY | O_DIRECTORY));
  if (::fsync(fd.get()) != 0) return errno_error(errno, "fsync " + directory.string());
  return {};
}

Status fill_file(int fd, std::string_view bytes, mode_t mode) {
  if (::fchmod(fd, mode) != 0) return errno_error(errno, "fchmod");  // not the mode of open(): that one obeys the umask
  STRAKE_CHECK_OK(write_all(fd, bytes));
  if (::fsync(fd) != 0) return errno_error(errno, "fsync");
  return {};
}

}  // namespace

void Fd::reset(int number) {
  if (number_ >= 0)
    ::close(number_);  // never repeated: after EINTR Linux has closed the number, another thread may own it
  number_ = number;
}

Error errno_error(int errno_value, std::string_view message) {
  return error(code_of_errno(errno_value), "{}: {}", message, std::generic_category().message(errno_value));
}

Result<Fd> open_file(const std::filesystem::path& path, int flags, mode_t mode) {
  // The system would take what stands before a NUL for the whole.
  if (path.native().find('\0') != std::string::npos) {
    return error(Code::kInvalidArgument, "a path holds a NUL character: it is not opened");
  }
  int number;
  do {
    number = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (number < 0 && errno == EINTR);
  if (number < 0) return errno_error(errno, "open " + path.string());
  return Fd(number);
}

Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_error(errno, "write");
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit_bytes) {
  STRAKE_TRY(Fd fd, open_file(path, O_RDONLY));
  STRAKE_TRY_CONTEXT(std::string bytes, read_to_end(fd.get(), limit_bytes), "reading {}", path.string());
  if (bytes.size() > limit_bytes) {
    return error(Code::kExhausted, "{} is larger than the limit of {} bytes", path.string(), limit_bytes);
  }
  return bytes;
}

Result<std::string> read_file_tail(const std::filesystem::path& path, std::size_t limit_bytes) {
  STRAKE_TRY(Fd fd, open_file(path, O_RDONLY));
  const off_t size = ::lseek(fd.get(), 0, SEEK_END);
  if (size < 0) return errno_error(errno, "seek in " + path.string());
  const off_t start = std::max<off_t>(0, size - static_cast<off_t>(limit_bytes));
  if (::lseek(fd.get(), start, SEEK_SET) < 0) return errno_error(errno, "seek in " + path.string());
  STRAKE_TRY_CONTEXT(std::string bytes, read_to_end(fd.get(), limit_bytes), "reading {}", path.string());
  // The file may have grown since its size was asked.
  if (bytes.size() > limit_bytes) bytes.resize(limit_bytes);
  return bytes;
}

Status write_file_atomic(const std::filesystem::path& path, std::string_view bytes, mode_t mode) {
  if (!path.has_filename()) return error(Code::kInvalidArgument, "'{}' does not name a file", path.string());
  const std::filesystem::path directory = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  std::string temporary = (directory / ("." + path.filename().string() + ".XXXXXX")).string();
  Fd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) return errno_error(errno, "creating a temporary file beside " + path.string());

  Status written = fill_file(fd.get(), bytes, mode).context("writing {}", temporary);
  if (written.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) {
    written = errno_error(errno, "renaming " + temporary + " to " + path.string());
  }
  if (!written.ok()) {
    ::unlink(temporary.c_str());
    return written;
  }
  return sync_directory(directory).context("making the new {} durable", path.string());
}

}  // namespace strake
