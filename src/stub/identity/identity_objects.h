// The objects that are the config server's identity: its authority (signer), whom machines trust (bundle), and the
// certificate it serves with. Names, annotations and labels are the platform's.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/object.h"
#include "net/x509.h"

namespace strake::stub {

namespace identity_object {
inline constexpr std::string_view kSigner = "machine-config-server-ca";  ///< Secret: tls.crt, tls.key
inline constexpr std::string_view kBundle = "machine-config-server-ca";  ///< ConfigMap: ca-bundle.crt
inline constexpr std::string_view kBundleKey = "ca-bundle.crt";
/// Secret, Strake's own: the authority that is to follow, while a rotation is under way.
inline constexpr std::string_view kNextSigner = "machine-config-server-ca-next";
}  // namespace identity_object

namespace certificate_annotation {
inline constexpr std::string_view kNotBefore = "auth.openshift.io/certificate-not-before";
inline constexpr std::string_view kNotAfter = "auth.openshift.io/certificate-not-after";
inline constexpr std::string_view kIssuer = "auth.openshift.io/certificate-issuer";
inline constexpr std::string_view kHostnames = "auth.openshift.io/certificate-hostnames";
inline constexpr std::string_view kRefreshPeriod = "certificates.openshift.io/refresh-period";
inline constexpr std::string_view kTypeLabel = "auth.openshift.io/managed-certificate-type";
}  // namespace certificate_annotation

/// A Secret's certificate with what follows it in the chain, and its key.
struct CertifiedKey {
  std::vector<net::Certificate> chain;  ///< its own first
  net::PrivateKey key;

  const net::Certificate& certificate() const { return chain.front(); }
};

/// kInvalidArgument says what of the Secret cannot be used, and never what the key is.
Result<CertifiedKey> read_certified_key(const kube::Object& secret);
Result<std::vector<net::Certificate>> read_bundle(const kube::Object& config_map);

/// "NAMESPACE_NAME@SECONDS", as the platform names its signers.
std::string signer_name(std::chrono::sys_seconds now);

enum class CertifiedAs { kSigner, kServing };

/// The Secret with another pair; `present` may be nullptr, and what else it has stays.
kube::Object with_certified_key(const kube::Object* present, std::string_view name, CertifiedAs as,
                                const CertifiedKey& pair);
kube::Object with_bundle(const kube::Object* present, const std::vector<net::Certificate>& trusted);

/// Names and addresses of a certificate, sorted.
std::vector<std::string> hosts_of(const net::Certificate& certificate);
/// Whether `issuer` alone vouches for the certificate, its end apart.
bool is_issued_by(const net::Certificate& certificate, const net::Certificate& issuer);
bool contains(const std::vector<net::Certificate>& list, const net::Certificate& certificate);

}  // namespace strake::stub
