#include "stub/identity/identity_objects.h"

#include <algorithm>

#include "api/kinds.h"
#include "base/time.h"
#include "codec/base64.h"

namespace strake::stub {

namespace {

constexpr std::string_view kCertificateKey = "tls.crt";
constexpr std::string_view kPrivateKeyKey = "tls.key";

Result<std::string> secret_value(const kube::Object& secret, std::string_view key) {
  const auto encoded = json::find_string(secret.json(), {"data", key});
  if (!encoded || encoded->empty()) return error(Code::kInvalidArgument, "it has no {}", key);
  auto value = codec::decode_base64(*encoded);
  if (!value.ok()) return error(Code::kInvalidArgument, "{} is no base64", key);
  return value;
}

/// As Go prints a duration of whole hours.
std::string refresh_period(const net::Certificate& certificate) {
  const auto life = certificate.info().not_after - certificate.info().not_before;
  return fmt::format("{}h0m0s", std::chrono::floor<std::chrono::hours>(life * 8 / 10).count());
}

std::string issuer_name(const CertifiedKey& pair) {
  // "CN=..." as the one-line form begins; what we issue and what the platform issues has nothing else.
  const std::string& issuer = pair.certificate().info().issuer;
  return issuer.starts_with("CN=") ? issuer.substr(3) : issuer;
}

}  // namespace

Result<CertifiedKey> read_certified_key(const kube::Object& secret) {
  STRAKE_TRY(const std::string certificates, secret_value(secret, kCertificateKey));
  STRAKE_TRY(const std::string key_pem, secret_value(secret, kPrivateKeyKey));
  STRAKE_TRY_CONTEXT(std::vector<net::Certificate> chain, net::parse_bundle(certificates), "tls.crt");
  const auto key = net::PrivateKey::from_pem(key_pem);
  if (!key.ok()) return error(Code::kInvalidArgument, "tls.key is no private key");
  if (!net::check_key_matches(chain.front(), *key).ok()) {
    return error(Code::kInvalidArgument, "tls.key is not the key of tls.crt");
  }
  return CertifiedKey{std::move(chain), *key};
}

Result<std::vector<net::Certificate>> read_bundle(const kube::Object& config_map) {
  const auto text = json::find_string(config_map.json(), {"data", identity_object::kBundleKey});
  if (!text) return error(Code::kInvalidArgument, "it has no {}", identity_object::kBundleKey);
  STRAKE_TRY_CONTEXT(std::vector<net::Certificate> bundle, net::parse_bundle(*text), "{}", identity_object::kBundleKey);
  return bundle;
}

std::string signer_name(std::chrono::sys_seconds now) {
  return fmt::format("{}_{}@{}", api::kMachineConfigNamespace, identity_object::kSigner,
                     now.time_since_epoch().count());
}

kube::Object with_certified_key(const kube::Object* present, std::string_view name, CertifiedAs as,
                                const CertifiedKey& pair) {
  kube::Object secret =
      present != nullptr
          ? *present
          : kube::Object(kube::core::kSecret, {std::string(api::kMachineConfigNamespace), std::string(name)});
  // The type cannot be changed later; old clusters have another, and nobody here minds.
  if (present == nullptr) secret.json().as_object()["type"] = "kubernetes.io/tls";
  json::ensure(secret.json(), {"data", kCertificateKey}) = codec::encode_base64(net::to_pem(pair.chain));
  json::ensure(secret.json(), {"data", kPrivateKeyKey}) = codec::encode_base64(pair.key.to_pem());
  const net::CertificateInfo& info = pair.certificate().info();
  secret.set_label(certificate_annotation::kTypeLabel, as == CertifiedAs::kSigner ? "signer" : "target");
  secret.set_annotation(certificate_annotation::kNotBefore, format_rfc3339(info.not_before));
  secret.set_annotation(certificate_annotation::kNotAfter, format_rfc3339(info.not_after));
  secret.set_annotation(certificate_annotation::kIssuer, issuer_name(pair));
  secret.set_annotation(certificate_annotation::kRefreshPeriod, refresh_period(pair.certificate()));
  if (as == CertifiedAs::kServing) {
    secret.set_annotation(certificate_annotation::kHostnames,
                          fmt::format("{}", fmt::join(hosts_of(pair.certificate()), ",")));
  }
  return secret;
}

kube::Object with_bundle(const kube::Object* present, const std::vector<net::Certificate>& trusted) {
  kube::Object config_map = present != nullptr
                                ? *present
                                : kube::Object(kube::core::kConfigMap, {std::string(api::kMachineConfigNamespace),
                                                                        std::string(identity_object::kBundle)});
  config_map.set_label(certificate_annotation::kTypeLabel, "ca-bundle");
  json::ensure(config_map.json(), {"data", identity_object::kBundleKey}) = net::to_pem(trusted);
  return config_map;
}

std::vector<std::string> hosts_of(const net::Certificate& certificate) {
  std::vector<std::string> hosts = certificate.info().dns_names;
  hosts.insert(hosts.end(), certificate.info().ip_addresses.begin(), certificate.info().ip_addresses.end());
  std::ranges::sort(hosts);
  hosts.erase(std::ranges::unique(hosts).begin(), hosts.end());
  return hosts;
}

bool is_issued_by(const net::Certificate& certificate, const net::Certificate& issuer) {
  const net::CertificateInfo& info = certificate.info();
  // At a moment when both lived: what has ended was issued all the same.
  const auto at = std::max(info.not_before, issuer.info().not_before);
  return net::verify_chain(certificate, {}, {&issuer, 1}, at, net::CertificatePurpose::kAny).ok();
}

bool contains(const std::vector<net::Certificate>& list, const net::Certificate& certificate) {
  return std::ranges::any_of(
      list, [&](const net::Certificate& one) { return one.info().sha256 == certificate.info().sha256; });
}

}  // namespace strake::stub
