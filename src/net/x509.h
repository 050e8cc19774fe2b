// Keys and certificates: making them, reading them, checking them. OpenSSL stays behind this header.
//
// Keys are EC P-256 unless RSA is asked for. Times and serial numbers are given by the caller: a certificate depends on
// its inputs and on the key alone (its signature still differs each time, as ECDSA does).
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace strake::net {

inline constexpr std::size_t kMaxPemBytes = 4 * 1024 * 1024;
inline constexpr std::size_t kMaxBundleCertificates = 2000;

enum class KeyKind {
  kEcP256,
  kRsa2048,  ///< slower; for clients of any age
};

class PrivateKey {
 public:
  static Result<PrivateKey> generate(KeyKind kind = KeyKind::kEcP256);
  /// PKCS#8 or the older EC and RSA forms; a key protected by a password is refused.
  static Result<PrivateKey> from_pem(std::string_view pem);

  /// PKCS#8, unprotected: for a file that only its owner may read.
  std::string to_pem() const;

  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  explicit PrivateKey(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

/// What a certificate says, as plain data.
struct CertificateInfo {
  std::string common_name;
  std::vector<std::string> organizations;
  std::string issuer;  ///< one line, "CN=...,O=..."
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  std::chrono::sys_seconds not_before;
  std::chrono::sys_seconds not_after;
  bool is_ca = false;
  bool may_vouch_for_cas = false;  ///< an authority whose certificate does not forbid others below it
  std::string serial;              ///< hexadecimal, lower case
  std::string sha256;              ///< fingerprint of the DER form: hexadecimal, lower case
};

class Certificate {
 public:
  /// The first certificate in the text.
  static Result<Certificate> from_pem(std::string_view pem);
  static Result<Certificate> from_der(std::string_view der);

  const CertificateInfo& info() const;
  std::string to_pem() const;

  struct Impl;
  const Impl& impl() const { return *impl_; }
  explicit Certificate(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

/// All certificates of a PEM text, in order; at least one.
Result<std::vector<Certificate>> parse_bundle(std::string_view pem);
std::string to_pem(std::span<const Certificate> bundle);

struct Validity {
  std::chrono::sys_seconds not_before;
  std::chrono::sys_seconds not_after;
};

struct CaRequest {
  std::string common_name;
  Validity validity;
  std::string serial;              ///< 8 to 20 random bytes
  bool may_vouch_for_cas = false;  ///< for a successor, see cross_sign
};

struct LeafRequest {
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  bool server_auth = false;
  bool client_auth = false;
  Validity validity;
  std::string serial;  ///< 8 to 20 random bytes
};

/// A root that may sign leaves, and nothing that signs further unless the request says so.
Result<Certificate> make_ca(const PrivateKey& key, const CaRequest& request);

/// A second certificate for the name and key of the authority `successor`, signed by `ca`: who trusts `ca` alone
/// accepts what the successor issued, when it comes with this. kDenied when `ca` may not vouch for authorities.
Result<Certificate> cross_sign(const Certificate& ca, const PrivateKey& ca_key, const Certificate& successor,
                               const Validity& validity, const std::string& serial);

/// A certificate for the public half of `leaf_key`.
Result<Certificate> issue(const Certificate& ca, const PrivateKey& ca_key, const PrivateKey& leaf_key,
                          const LeafRequest& request);

/// A request to be certified (PKCS#10): a public key that the asker proves to own by signing the request with it, and
/// names that are no more than a wish.
class CertificateRequest {
 public:
  static constexpr std::size_t kMaxBytes = 64 * 1024;

  static Result<CertificateRequest> make(const PrivateKey& key, const std::string& common_name,
                                         const std::vector<std::string>& organizations);
  /// kDenied when its signature is not by its own key, kUnsupported for a key that is too weak: it must be RSA of 2048
  /// to 8192 bits, EC on P-256, P-384 or P-521, or Ed25519.
  static Result<CertificateRequest> from_pem(std::string_view pem);

  const std::string& common_name() const;
  const std::vector<std::string>& organizations() const;
  /// Of the public key (its SubjectPublicKeyInfo): hexadecimal, lower case.
  std::string key_sha256() const;
  std::string to_pem() const;

  struct Impl;
  const Impl& impl() const { return *impl_; }
  explicit CertificateRequest(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

/// A certificate for the key of a request; everything else in it comes from `wanted`.
Result<Certificate> issue(const Certificate& ca, const PrivateKey& ca_key, const CertificateRequest& request,
                          const LeafRequest& wanted);

enum class CertificatePurpose { kAny, kServer, kClient };

/// Whether a path leads from `leaf` over `intermediates` to one of `roots`, every certificate of it valid at `at`.
Status verify_chain(const Certificate& leaf, std::span<const Certificate> intermediates,
                    std::span<const Certificate> roots, std::chrono::sys_seconds at, CertificatePurpose purpose);

/// Whether the certificate was issued for this DNS name or IP address. Only subject alternative names count.
Status check_host(const Certificate& certificate, std::string_view host);

Status check_key_matches(const Certificate& certificate, const PrivateKey& key);

}  // namespace strake::net
