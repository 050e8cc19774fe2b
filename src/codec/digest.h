// Content digests ("sha256:<hex>") and incremental hashing.
#pragma once

#include <compare>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace strake::codec {

/// MD5 and SHA-1 serve names and foreign formats that demand them, never trust.
enum class HashAlgorithm { kMd5, kSha1, kSha256, kSha512 };

std::string_view to_string(HashAlgorithm algorithm);
Result<HashAlgorithm> parse_hash_algorithm(std::string_view name);

/// What identifies content: always SHA-256 or SHA-512, always well-formed.
class Digest {
 public:
  enum class Algorithm { kSha256, kSha512 };

  /// "sha256:<64 lower-case hex digits>" or "sha512:<128 ...>".
  static Result<Digest> parse(std::string_view text);
  static Result<Digest> from_hex(Algorithm algorithm, std::string_view hex);
  static Digest sha256_of(std::string_view bytes);

  Algorithm algorithm() const { return algorithm_; }
  const std::string& hex() const { return hex_; }
  std::string to_string() const;

  auto operator<=>(const Digest&) const = default;

 private:
  friend class Hasher;
  Digest(Algorithm algorithm, std::string hex) : algorithm_(algorithm), hex_(std::move(hex)) {}

  Algorithm algorithm_;
  std::string hex_;
};

std::string_view to_string(Digest::Algorithm algorithm);

/// Feed it with update(), then call one of the finishing functions exactly once.
class Hasher {
 public:
  explicit Hasher(HashAlgorithm algorithm);
  explicit Hasher(Digest::Algorithm algorithm);
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  void update(std::span<const std::byte> bytes);
  void update(std::string_view bytes);

  std::string finish_hex() &&;
  /// The raw bytes of the hash.
  std::string finish_bytes() &&;
  /// Only for SHA-256 and SHA-512.
  Digest finish() &&;

 private:
  struct State;
  std::unique_ptr<State> state_;
  HashAlgorithm algorithm_;
};

std::string md5_hex(std::string_view bytes);
std::string sha256_hex(std::string_view bytes);

}  // namespace strake::codec
