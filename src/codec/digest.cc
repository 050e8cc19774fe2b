#include "codec/digest.h"

#include <array>
#include <utility>

#include <openssl/evp.h>

#include "codec/hex.h"

namespace strake::codec {
namespace {

constexpr std::size_t digest_hex_size(Digest::Algorithm algorithm) {
  switch (algorithm) {
    case Digest::Algorithm::kSha256: return 64;
    case Digest::Algorithm::kSha512: return 128;
  }
  return 0;
}

HashAlgorithm hash_of(Digest::Algorithm algorithm) {
  switch (algorithm) {
    case Digest::Algorithm::kSha256: return HashAlgorithm::kSha256;
    case Digest::Algorithm::kSha512: return HashAlgorithm::kSha512;
  }
  return HashAlgorithm::kSha256;
}

}  // namespace

std::string_view to_string(HashAlgorithm algorithm) {
  switch (algorithm) {
    case HashAlgorithm::kMd5: return "md5";
    case HashAlgorithm::kSha1: return "sha1";
    case HashAlgorithm::kSha256: return "sha256";
    case HashAlgorithm::kSha512: return "sha512";
  }
  return "unknown";
}

Result<HashAlgorithm> parse_hash_algorithm(std::string_view name) {
  for (auto algorithm : {HashAlgorithm::kMd5, HashAlgorithm::kSha1, HashAlgorithm::kSha256, HashAlgorithm::kSha512}) {
    if (name == to_string(algorithm)) return algorithm;
  }
  return error(Code::kUnsupported, "unknown hash algorithm `{}`; use md5, sha1, sha256 or sha512", name);
}

std::string_view to_string(Digest::Algorithm algorithm) { return to_string(hash_of(algorithm)); }

Result<Digest> Digest::parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return error(Code::kInvalidArgument, "`{}` is not a digest; write it as sha256:<64 hexadecimal digits>",
                 text.substr(0, 200));
  }
  const std::string_view name = text.substr(0, colon);
  for (auto algorithm : {Algorithm::kSha256, Algorithm::kSha512}) {
    if (name == strake::codec::to_string(algorithm)) return from_hex(algorithm, text.substr(colon + 1));
  }
  return error(Code::kUnsupported, "digest algorithm `{}` is not supported; use sha256 or sha512", name.substr(0, 200));
}

Result<Digest> Digest::from_hex(Algorithm algorithm, std::string_view hex) {
  if (hex.size() != digest_hex_size(algorithm)) {
    return error(Code::kInvalidArgument, "a {} digest has {} hexadecimal digits, not {}",
                 strake::codec::to_string(algorithm), digest_hex_size(algorithm), hex.size());
  }
  if (!is_lower_hex(hex)) {
    return error(Code::kInvalidArgument, "digest `{}` contains something other than 0-9 and a-f", hex);
  }
  return Digest(algorithm, std::string(hex));
}

Digest Digest::sha256_of(std::string_view bytes) {
  Hasher hasher(Algorithm::kSha256);
  hasher.update(bytes);
  return std::move(hasher).finish();
}

std::string Digest::to_string() const { return fmt::format("{}:{}", strake::codec::to_string(algorithm_), hex_); }

struct Hasher::State {
  struct FreeMd {
    void operator()(EVP_MD* fetched) const { EVP_MD_free(fetched); }
  };
  struct FreeContext {
    void operator()(EVP_MD_CTX* created) const { EVP_MD_CTX_free(created); }
  };
  std::unique_ptr<EVP_MD, FreeMd> md;
  std::unique_ptr<EVP_MD_CTX, FreeContext> context;
};

Hasher::Hasher(HashAlgorithm algorithm) : state_(std::make_unique<State>()), algorithm_(algorithm) {
  // "-fips" lifts a host-wide FIPS policy: rendered names are MD5 of public text and must not depend on the host.
  state_->md.reset(EVP_MD_fetch(nullptr, std::string(codec::to_string(algorithm)).c_str(), "-fips"));
  STRAKE_INVARIANT(state_->md != nullptr);
  state_->context.reset(EVP_MD_CTX_new());
  STRAKE_INVARIANT(state_->context != nullptr);
  STRAKE_INVARIANT(EVP_DigestInit_ex2(state_->context.get(), state_->md.get(), nullptr) == 1);
}

Hasher::Hasher(Digest::Algorithm algorithm) : Hasher(hash_of(algorithm)) {}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::update(std::span<const std::byte> bytes) {
  STRAKE_INVARIANT(state_ != nullptr);
  STRAKE_INVARIANT(EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()) == 1);
}

void Hasher::update(std::string_view bytes) { update(std::as_bytes(std::span(bytes))); }

std::string Hasher::finish_bytes() && {
  STRAKE_INVARIANT(state_ != nullptr);
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  unsigned size = 0;
  STRAKE_INVARIANT(EVP_DigestFinal_ex(state_->context.get(), hash.data(), &size) == 1);
  state_.reset();
  return std::string(hash.begin(), hash.begin() + size);
}

std::string Hasher::finish_hex() && { return encode_hex(std::move(*this).finish_bytes()); }

Digest Hasher::finish() && {
  STRAKE_INVARIANT(algorithm_ == HashAlgorithm::kSha256 || algorithm_ == HashAlgorithm::kSha512);
  const auto algorithm = algorithm_ == HashAlgorithm::kSha256 ? Digest::Algorithm::kSha256 : Digest::Algorithm::kSha512;
  return Digest(algorithm, std::move(*this).finish_hex());
}

std::string md5_hex(std::string_view bytes) {
  Hasher hasher(HashAlgorithm::kMd5);
  hasher.update(bytes);
  return std::move(hasher).finish_hex();
}

std::string sha256_hex(std::string_view bytes) {
  Hasher hasher(HashAlgorithm::kSha256);
  hasher.update(bytes);
  return std::move(hasher).finish_hex();
}

}  // namespace strake::codec
