#include "oci/spool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace strake::oci {

namespace {

constexpr std::size_t kSpoolMemoryBytes = 4u << 20;
constexpr mode_t kSpoolFileMode = 0600;

std::string spool_directory() {
  if (const char* named = std::getenv("TMPDIR"); named != nullptr && *named == '/') return named;
  return ::access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
}

}  // namespace

Result<Fd> open_unnamed_file() {
  const std::string directory = spool_directory();
  const int unnamed = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kSpoolFileMode);
  if (unnamed >= 0) return Fd(unnamed);
  // Not every file system knows files without a name.
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) {
    return errno_error(errno, fmt::format("a temporary file in {}", directory));
  }
  std::string name = directory + "/strake-XXXXXX";
  Fd named(::mkostemp(name.data(), O_CLOEXEC));
  if (!named) return errno_error(errno, fmt::format("a temporary file in {}", directory));
  if (::unlink(name.c_str()) != 0) return errno_error(errno, name);
  return named;
}

Status Spool::write(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!file_ && memory_.size() + text.size() <= kSpoolMemoryBytes) {
    memory_ += text;
    return {};
  }
  if (!file_) {
    STRAKE_TRY(file_, open_unnamed_file());
    STRAKE_CHECK_OK(write_all(file_.get(), memory_).context("writing a temporary file"));
    memory_ = {};
  }
  return write_all(file_.get(), text).context("writing a temporary file");
}

Status Spool::copy_to(codec::Sink& sink) {
  if (!file_) return codec::write(sink, memory_);
  if (::lseek(file_.get(), 0, SEEK_SET) < 0) return errno_error(errno, "reading a temporary file");
  codec::FdSource source(file_.get(), "a temporary file");
  STRAKE_TRY([[maybe_unused]] const std::uint64_t copied, codec::copy(source, sink));
  return {};
}

}  // namespace strake::oci
