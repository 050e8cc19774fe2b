#include "apistore/guard/audit_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace strake::apistore {

namespace {

std::filesystem::path numbered(const std::filesystem::path& path, unsigned number) {
  return number == 0 ? path : std::filesystem::path(fmt::format("{}.{}", path.string(), number));
}

}  // namespace

Status AuditFile::open() {
  auto opened = open_file(path_, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (!opened.ok()) {
    return std::move(opened).error().context("the audit log must be a plain file; choose another with --audit-log");
  }
  Fd file = *std::move(opened);
  struct stat found{};
  if (::fstat(file.get(), &found) != 0) return errno_error(errno, fmt::format("looking at {}", path_.string()));
  if (!S_ISREG(found.st_mode) || found.st_uid != ::geteuid() || found.st_nlink > 1) {
    return error(Code::kDenied,
                 "{} is not a plain file of this user with one name: move it away, or choose another with --audit-log",
                 path_.string());
  }
  if ((found.st_mode & 077) != 0 && ::fchmod(file.get(), 0600) != 0) {
    return errno_error(errno, fmt::format("making {} readable by its owner alone", path_.string()));
  }
  size_ = static_cast<std::uint64_t>(found.st_size);
  file_ = std::move(file);
  return {};
}

Status AuditFile::rotate() {
  file_.reset();
  for (unsigned number = limits_.files - 1; number > 0; --number) {
    const std::filesystem::path from = numbered(path_, number - 1);
    if (::rename(from.c_str(), numbered(path_, number).c_str()) != 0 && errno != ENOENT) {
      return errno_error(errno, fmt::format("moving {} aside", from.string()));
    }
  }
  if (limits_.files <= 1 && ::unlink(path_.c_str()) != 0 && errno != ENOENT) {
    return errno_error(errno, fmt::format("removing {}", path_.string()));
  }
  return open();
}

Status AuditFile::append(std::string_view lines) {
  if (!file_) STRAKE_CHECK_OK(open());
  if (size_ > 0 && size_ + lines.size() > limits_.file_bytes) STRAKE_CHECK_OK(rotate());
  Status written = write_all(file_.get(), lines);
  if (written.ok()) {
    size_ += lines.size();
    return {};
  }
  // Half a line would spoil the file for whoever reads it by lines.
  const bool whole_lines = ::ftruncate(file_.get(), static_cast<off_t>(size_)) == 0;
  file_.reset();
  return std::move(written).context("writing {}{}", path_.string(),
                                    whole_lines ? "" : " (its last line may be half a line)");
}

}  // namespace strake::apistore
