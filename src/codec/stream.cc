#include "codec/stream.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

namespace strake::codec {
namespace {

constexpr std::size_t kCopyBufferBytes = 128 * 1024;

Error descriptor_error(std::string_view doing, const std::string& name) {
  const int number = errno;
  const Code code = number == ENOSPC || number == EDQUOT ? Code::kExhausted : Code::kIo;
  return error(code, "{} {}: {}", doing, name, std::generic_category().message(number));
}

}  // namespace

Result<std::size_t> MemorySource::read(std::span<std::byte> into) {
  const std::size_t size = std::min(into.size(), rest_.size());
  if (size > 0) std::memcpy(into.data(), rest_.data(), size);
  rest_.remove_prefix(size);
  return size;
}

Status StringSink::write(std::span<const std::byte> bytes) {
  if (bytes.size() > max_bytes_ - text_.size()) {
    return error(Code::kExhausted, "content is larger than the limit of {} bytes", max_bytes_);
  }
  text_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return {};
}

Result<std::size_t> FdSource::read(std::span<std::byte> into) {
  for (;;) {
    const ssize_t size = ::read(fd_, into.data(), into.size());
    if (size >= 0) return static_cast<std::size_t>(size);
    if (errno != EINTR) return descriptor_error("reading", name_);
  }
}

Status FdSink::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(fd_, bytes.data(), bytes.size());
    if (size < 0) {
      if (errno == EINTR) continue;
      return descriptor_error("writing", name_);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(size));
  }
  return {};
}

Result<std::size_t> HashingSource::read(std::span<std::byte> into) {
  if (digest_) return std::size_t{0};
  STRAKE_TRY(const std::size_t size, inner_.read(into));
  hasher_.update(into.first(size));
  bytes_read_ += size;
  return size;
}

Result<Digest> HashingSource::finish() {
  if (digest_) return *digest_;
  std::vector<std::byte> buffer(kCopyBufferBytes);
  for (;;) {
    STRAKE_TRY(const std::size_t size, read(buffer));
    if (size == 0) break;
  }
  digest_ = std::move(hasher_).finish();
  return *digest_;
}

Status HashingSink::write(std::span<const std::byte> bytes) {
  STRAKE_CHECK_OK(inner_.write(bytes));
  hasher_.update(bytes);
  bytes_written_ += bytes.size();
  return {};
}

Result<std::size_t> LimitedSource::read(std::span<std::byte> into) {
  // One byte more than allowed is asked for, so that content of exactly the limit still ends in peace.
  const std::uint64_t wanted = std::min<std::uint64_t>(into.size(), left_ == UINT64_MAX ? left_ : left_ + 1);
  std::size_t size = 0;
  if (!exceeded_) {
    STRAKE_TRY(size, inner_.read(into.first(static_cast<std::size_t>(wanted))));
  }
  exceeded_ = exceeded_ || size > left_;
  if (exceeded_) return error(Code::kExhausted, "content is larger than the limit of {} bytes", max_bytes_);
  left_ -= size;
  return size;
}

Result<std::uint64_t> copy(Source& source, Sink& sink) {
  std::vector<std::byte> buffer(kCopyBufferBytes);
  std::uint64_t total = 0;
  for (;;) {
    STRAKE_TRY(const std::size_t size, source.read(buffer));
    if (size == 0) return total;
    STRAKE_CHECK_OK(sink.write(std::span(buffer).first(size)));
    total += size;
  }
}

Result<std::size_t> read_full(Source& source, std::span<std::byte> into) {
  std::size_t filled = 0;
  while (filled < into.size()) {
    STRAKE_TRY(const std::size_t size, source.read(into.subspan(filled)));
    if (size == 0) break;
    filled += size;
  }
  return filled;
}

Result<std::string> read_all(Source& source, std::uint64_t max_bytes) {
  StringSink sink(max_bytes);
  STRAKE_CHECK_OK(copy(source, sink));
  return std::move(sink).take();
}

Status write(Sink& sink, std::string_view bytes) { return sink.write(std::as_bytes(std::span(bytes))); }

}  // namespace strake::codec
