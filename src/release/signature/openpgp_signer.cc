#include "release/signature/openpgp_signer.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>

#include <array>
#include <initializer_list>

#include "codec/hex.h"
#include "codec/json.h"

namespace strake::release {

namespace {

// RFC 4880: packets (4.3), signature types (5.2.1), subpackets (5.2.3.1), algorithms (9.1, 9.4).
constexpr unsigned kPacketSignature = 2, kPacketOnePass = 4, kPacketKey = 6, kPacketLiteral = 11, kPacketUser = 13;
constexpr char kSignsBytes = '\x00', kCertifiesUser = '\x13';
constexpr char kEcdsa = '\x13', kSha256 = '\x08', kVersion4 = '\x04', kVersion3 = '\x03';
constexpr char kCreated = '\x02', kIssuer = '\x10', kKeyFlags = '\x1b', kMaySignAndCertify = '\x03';
/// P-256 (RFC 6637, section 11), with its length before it.
constexpr std::string_view kCurve("\x08\x2a\x86\x48\xce\x3d\x03\x01\x07", 9);
constexpr std::size_t kKeyIdBytes = 8;

std::string big_endian_bytes(std::uint64_t number, std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t i = count; i-- > 0; number >>= 8) bytes[i] = static_cast<char>(number & 0xFF);
  return bytes;
}

/// RFC 4880, section 4.2.2.
std::string new_packet(unsigned tag, std::string_view body) {
  return static_cast<char>(0xC0 | tag) + ("\xff" + big_endian_bytes(body.size(), 4)) + std::string(body);
}

/// A number with its length in bits before it.
std::string mpi(std::string_view bytes) {
  while (!bytes.empty() && bytes.front() == '\0') bytes.remove_prefix(1);
  std::size_t bits = bytes.size() * 8;
  for (unsigned mask = 0x80; !bytes.empty() && (static_cast<unsigned char>(bytes.front()) & mask) == 0; mask >>= 1)
    --bits;
  return big_endian_bytes(bits, 2) + std::string(bytes);
}

std::string subpacket(char type, std::string_view content) {
  return static_cast<char>(content.size() + 1) + std::string(1, type) + std::string(content);
}

std::string seconds_of(ReleaseSigner::WallTime now) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  return big_endian_bytes(static_cast<std::uint64_t>(seconds), 4);
}

struct SigningFree {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  void operator()(ECDSA_SIG* signature) const { ECDSA_SIG_free(signature); }
};
template <typename T>
using SignatureHandle = std::unique_ptr<T, SigningFree>;

Error no_signature(std::string_view what) { return error(Code::kInternal, "OpenSSL cannot {}", what); }

std::string number_bytes(const BIGNUM* number) {
  std::string bytes(static_cast<std::size_t>(BN_num_bytes(number)), '\0');
  BN_bn2bin(number, reinterpret_cast<unsigned char*>(bytes.data()));
  return bytes;
}

/// r and s, as a signature packet ends with them.
Result<std::string> ecdsa_numbers(EVP_PKEY* key, std::string_view hashed) {
  const SignatureHandle<EVP_MD_CTX> context(EVP_MD_CTX_new());
  const auto* data = reinterpret_cast<const unsigned char*>(hashed.data());
  std::size_t size = 0;
  if (!context || EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, data, hashed.size()) != 1) {
    return no_signature("sign");
  }
  std::string der(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(der.data()), &size, data, hashed.size()) != 1) {
    return no_signature("sign");
  }
  const auto* cursor = reinterpret_cast<const unsigned char*>(der.data());
  const SignatureHandle<ECDSA_SIG> numbers(d2i_ECDSA_SIG(nullptr, &cursor, static_cast<long>(size)));
  if (!numbers) return no_signature("read its own signature");
  return mpi(number_bytes(ECDSA_SIG_get0_r(numbers.get()))) + mpi(number_bytes(ECDSA_SIG_get0_s(numbers.get())));
}

}  // namespace

struct ReleaseSigner::Impl {
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key{EVP_EC_gen("P-256"), EVP_PKEY_free};
  std::string key_body;  ///< of the public key's packet
  std::string key_id;
  Keyring keyring;

  /// A packet with a version 4 signature of `content` (RFC 4880, section 5.2.4).
  Result<std::string> sign(char type, std::string_view content, std::string_view more_subpackets, WallTime now) const {
    const std::string hashed_part = subpacket(kCreated, seconds_of(now)) + std::string(more_subpackets);
    const std::string head =
        std::string{kVersion4, type, kEcdsa, kSha256} + big_endian_bytes(hashed_part.size(), 2) + hashed_part;
    const std::string trailer = std::string{kVersion4, '\xff'} + big_endian_bytes(head.size(), 4);
    const std::string hashed = std::string(content) + head + trailer;
    STRAKE_TRY(const std::string numbers, ecdsa_numbers(key.get(), hashed));
    STRAKE_TRY(const std::string digest, codec::decode_hex(codec::sha256_hex(hashed)));
    const std::string issuer = subpacket(kIssuer, key_id);
    return new_packet(kPacketSignature,
                      head + big_endian_bytes(issuer.size(), 2) + issuer + digest.substr(0, 2) + numbers);
  }
};

ReleaseSigner::ReleaseSigner(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ReleaseSigner::ReleaseSigner(ReleaseSigner&&) noexcept = default;
ReleaseSigner& ReleaseSigner::operator=(ReleaseSigner&&) noexcept = default;
ReleaseSigner::~ReleaseSigner() = default;

Result<ReleaseSigner> ReleaseSigner::create(std::string_view user, WallTime now) {
  auto impl = std::make_unique<Impl>();
  std::array<unsigned char, 65> point{};  // 4, x, y
  std::size_t size = 0;
  if (!impl->key ||
      EVP_PKEY_get_octet_string_param(impl->key.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size(), &size) !=
          1 ||
      size != point.size()) {
    return no_signature("make a key");
  }
  impl->key_body = kVersion4 + seconds_of(now) + kEcdsa + std::string(kCurve) +
                   mpi({reinterpret_cast<const char*>(point.data()), point.size()});
  const std::string key_packet = new_packet(kPacketKey, impl->key_body);
  STRAKE_TRY(const Keyring bare, parse_keyring("made here", key_packet));
  STRAKE_TRY(const std::string fingerprint, codec::decode_hex(bare.entities.front().primary.fingerprint));
  impl->key_id = fingerprint.substr(fingerprint.size() - kKeyIdBytes);

  const std::string certified = "\x99" + big_endian_bytes(impl->key_body.size(), 2) + impl->key_body + "\xb4" +
                                big_endian_bytes(user.size(), 4) + std::string(user);
  STRAKE_TRY(const std::string certification,
             impl->sign(kCertifiesUser, certified, subpacket(kKeyFlags, {&kMaySignAndCertify, 1}), now));
  STRAKE_TRY(impl->keyring,
             parse_keyring(std::string(user), key_packet + new_packet(kPacketUser, user) + certification));
  return ReleaseSigner(std::move(impl));
}

const Keyring& ReleaseSigner::keyring() const { return impl_->keyring; }

Result<std::string> ReleaseSigner::sign_release(const codec::Digest& digest, std::string_view name,
                                                WallTime now) const {
  const std::string statement = json::write(
      json::Object{{"critical", json::Object{{"image", json::Object{{"docker-manifest-digest", digest.to_string()}}},
                                             {"type", "atomic container signature"},
                                             {"identity", json::Object{{"docker-reference", name}}}}},
                   {"optional", json::Object{{"creator", "strake"}}}});
  STRAKE_TRY(const std::string signature, impl_->sign(kSignsBytes, statement, "", now));
  const std::string one_pass =
      std::string{kVersion3, kSignsBytes, kSha256, kEcdsa} + impl_->key_id + '\x01';  // the last one
  const std::string literal = std::string{'b', '\0'} + seconds_of(now) + statement;
  return new_packet(kPacketOnePass, one_pass) + new_packet(kPacketLiteral, literal) + signature;
}

}  // namespace strake::release
