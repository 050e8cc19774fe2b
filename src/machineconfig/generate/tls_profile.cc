#include "machineconfig/generate/tls_profile.h"

#include <algorithm>
#include <array>

namespace strake::machineconfig {

namespace {

enum class TlsProfile { kModern, kIntermediate, kOld };

struct TlsCipher {
  std::string_view openssl;
  std::string_view iana;
  TlsProfile strictest;  ///< it belongs to this profile and, but for TLS 1.3 names alone, to all that allow more
};

/// The recommendations for server-side TLS of Mozilla, as far as Go's TLS has the suites.
constexpr TlsCipher kTlsCiphers[] = {
    {"TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256", TlsProfile::kModern},
    {"TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384", TlsProfile::kModern},
    {"TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256", TlsProfile::kModern},
    {"ECDHE-ECDSA-AES128-GCM-SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", TlsProfile::kIntermediate},
    {"ECDHE-RSA-AES128-GCM-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", TlsProfile::kIntermediate},
    {"ECDHE-ECDSA-AES256-GCM-SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", TlsProfile::kIntermediate},
    {"ECDHE-RSA-AES256-GCM-SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", TlsProfile::kIntermediate},
    {"ECDHE-ECDSA-CHACHA20-POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", TlsProfile::kIntermediate},
    {"ECDHE-RSA-CHACHA20-POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", TlsProfile::kIntermediate},
    {"ECDHE-ECDSA-AES128-SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", TlsProfile::kOld},
    {"ECDHE-RSA-AES128-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", TlsProfile::kOld},
    {"ECDHE-ECDSA-AES128-SHA", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", TlsProfile::kOld},
    {"ECDHE-RSA-AES128-SHA", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", TlsProfile::kOld},
    {"ECDHE-ECDSA-AES256-SHA", "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", TlsProfile::kOld},
    {"ECDHE-RSA-AES256-SHA", "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", TlsProfile::kOld},
    {"AES128-GCM-SHA256", "TLS_RSA_WITH_AES_128_GCM_SHA256", TlsProfile::kOld},
    {"AES256-GCM-SHA384", "TLS_RSA_WITH_AES_256_GCM_SHA384", TlsProfile::kOld},
    {"AES128-SHA256", "TLS_RSA_WITH_AES_128_CBC_SHA256", TlsProfile::kOld},
    {"AES128-SHA", "TLS_RSA_WITH_AES_128_CBC_SHA", TlsProfile::kOld},
    {"AES256-SHA", "TLS_RSA_WITH_AES_256_CBC_SHA", TlsProfile::kOld},
    {"DES-CBC3-SHA", "TLS_RSA_WITH_3DES_EDE_CBC_SHA", TlsProfile::kOld},
};

TlsSettings settings_of(TlsProfile profile, std::string_view min_version) {
  TlsSettings settings{std::string(min_version), {}};
  for (const TlsCipher& cipher : kTlsCiphers) {
    if (cipher.strictest <= profile) settings.ciphers.emplace_back(cipher.iana);
  }
  return settings;
}

Result<TlsSettings> custom_settings(const json::Value& profile) {
  constexpr std::array<std::string_view, 4> kVersions{"VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"};
  TlsSettings settings{json::find_string(profile, {"custom", "minTLSVersion"}).value_or(""), {}};
  if (std::ranges::find(kVersions, settings.min_version) == kVersions.end()) {
    return error(Code::kInvalidArgument, "spec.tlsSecurityProfile.custom.minTLSVersion: '{}' is none of {}",
                 settings.min_version, fmt::join(kVersions, ", "));
  }
  const json::Value* names = json::find(profile, {"custom", "ciphers"});
  for (const json::Value& name : names != nullptr && names->is_array() ? names->get_array() : json::Array()) {
    const std::string_view text = name.is_string() ? json::as_view(name.get_string()) : std::string_view();
    for (const TlsCipher& cipher : kTlsCiphers) {
      if (cipher.openssl == text) settings.ciphers.emplace_back(cipher.iana);
    }
  }
  if (settings.ciphers.empty()) {
    return error(Code::kInvalidArgument,
                 "spec.tlsSecurityProfile.custom.ciphers: names no cipher a kubelet has, such as "
                 "ECDHE-ECDSA-AES128-GCM-SHA256");
  }
  return settings;
}

}  // namespace

Result<TlsSettings> tls_settings(const json::Value& profile) {
  const std::string type = json::find_string(profile, {"type"}).value_or("");
  if (type == "Old") return settings_of(TlsProfile::kOld, "VersionTLS10");
  if (type == "Intermediate") return settings_of(TlsProfile::kIntermediate, "VersionTLS12");
  if (type == "Modern") return settings_of(TlsProfile::kModern, "VersionTLS13");
  if (type == "Custom") return custom_settings(profile);
  return error(Code::kInvalidArgument,
               "spec.tlsSecurityProfile.type: '{}' is none of Old, Intermediate, Modern, Custom", type);
}

}  // namespace strake::machineconfig
