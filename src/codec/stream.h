// Bytes that flow: a Source is read until it answers 0, a Sink is written. Wrappers borrow what they wrap: the caller
// keeps the inner source alive as long as the outer one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/digest.h"

namespace strake::codec {

class Source {
 public:
  virtual ~Source() = default;

  /// Fills a part of `into`, at least one byte; 0 means the end. `into` must not be empty. After an error, or the end,
  /// further reads answer the same.
  virtual Result<std::size_t> read(std::span<std::byte> into) = 0;
};

class Sink {
 public:
  virtual ~Sink() = default;

  /// Takes all of `bytes` or fails.
  virtual Status write(std::span<const std::byte> bytes) = 0;
};

/// Reads memory the caller owns.
class MemorySource : public Source {
 public:
  explicit MemorySource(std::string_view bytes) : rest_(bytes) {}
  Result<std::size_t> read(std::span<std::byte> into) override;

 private:
  std::string_view rest_;
};

/// Collects into a string, refusing (kExhausted) to grow beyond the limit.
class StringSink : public Sink {
 public:
  explicit StringSink(std::uint64_t max_bytes = UINT64_MAX) : max_bytes_(max_bytes) {}
  Status write(std::span<const std::byte> bytes) override;

  const std::string& text() const { return text_; }
  std::string take() && { return std::move(text_); }

 private:
  std::string text_;
  std::uint64_t max_bytes_;
};

/// Reads a descriptor the caller owns and closes; `name` appears in errors.
class FdSource : public Source {
 public:
  FdSource(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}
  Result<std::size_t> read(std::span<std::byte> into) override;

 private:
  int fd_;
  std::string name_;
};

/// Writes a descriptor the caller owns and closes; `name` appears in errors.
class FdSink : public Sink {
 public:
  FdSink(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}
  Status write(std::span<const std::byte> bytes) override;

 private:
  int fd_;
  std::string name_;
};

/// Hashes everything that passes through.
class HashingSource : public Source {
 public:
  explicit HashingSource(Source& inner, Digest::Algorithm algorithm = Digest::Algorithm::kSha256)
      : inner_(inner), hasher_(algorithm) {}
  Result<std::size_t> read(std::span<std::byte> into) override;

  /// Reads what is left, so that the digest covers the whole content, and ends the source. May be asked again.
  Result<Digest> finish();
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  Source& inner_;
  Hasher hasher_;
  std::optional<Digest> digest_;
  std::uint64_t bytes_read_ = 0;
};

class HashingSink : public Sink {
 public:
  explicit HashingSink(Sink& inner, Digest::Algorithm algorithm = Digest::Algorithm::kSha256)
      : inner_(inner), hasher_(algorithm) {}
  Status write(std::span<const std::byte> bytes) override;

  /// Call once, after the last write.
  Digest finish() && { return std::move(hasher_).finish(); }
  std::uint64_t bytes_written() const { return bytes_written_; }

 private:
  Sink& inner_;
  Hasher hasher_;
  std::uint64_t bytes_written_ = 0;
};

/// Fails with kExhausted once the inner source has more than `max_bytes`; content of exactly that size is fine.
class LimitedSource : public Source {
 public:
  LimitedSource(Source& inner, std::uint64_t max_bytes) : inner_(inner), max_bytes_(max_bytes), left_(max_bytes) {}
  Result<std::size_t> read(std::span<std::byte> into) override;

 private:
  Source& inner_;
  std::uint64_t max_bytes_;
  std::uint64_t left_;
  bool exceeded_ = false;
};

/// Everything from `source` to `sink`; returns the number of bytes.
Result<std::uint64_t> copy(Source& source, Sink& sink);

/// Reads until `into` is full or the source ends; returns how much there was.
Result<std::size_t> read_full(Source& source, std::span<std::byte> into);

Result<std::string> read_all(Source& source, std::uint64_t max_bytes);

Status write(Sink& sink, std::string_view bytes);

}  // namespace strake::codec
