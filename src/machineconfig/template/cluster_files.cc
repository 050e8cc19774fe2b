#include "machineconfig/template/cluster_files.h"

#include <algorithm>

#include "api/controller_config.h"
#include "base/text.h"
#include "codec/base64.h"
#include "machineconfig/template/base_units.h"

namespace strake::machineconfig {

namespace {

constexpr std::string_view kUserAuthoritiesPath =
    "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt";
constexpr std::string_view kPullSecretMember = ".dockerconfigjson";
constexpr std::string_view kBeginCertificate = "-----BEGIN CERTIFICATE-----";
constexpr std::string_view kEndCertificate = "-----END CERTIFICATE-----";

Result<ClusterFile> pull_secret_file(const kube::Object& secret) {
  const auto refused = [&](std::string_view why) {
    return error(Code::kInvalidArgument, "Secret {}: data.{}: {}", secret.key().to_string(), kPullSecretMember, why);
  };
  const auto encoded = json::find_string(secret.json(), {"data", kPullSecretMember});
  if (!encoded) return refused("missing; write it with `kubectl create secret docker-registry`");
  const auto text = codec::decode_base64(*encoded);
  if (!text.ok()) return refused("is not base64");
  const auto parsed = json::parse(*text);
  if (!parsed.ok()) return refused("is not JSON");
  const json::Value* auths = json::find(*parsed, {"auths"});
  if (auths == nullptr || !auths->is_object()) return refused("has no auths, by registry");
  return ClusterFile{std::string(kPullSecretPath), *text, 0600};
}

/// One or more certificates, each whole: what reads them stops at the first that is not.
Result<ClusterFile> authorities_file(const std::string& encoded) {
  constexpr std::string_view kField = "ControllerConfig machine-config-controller: spec.additionalTrustBundle";
  const auto text = codec::decode_base64(encoded);
  if (!text.ok()) return error(Code::kInvalidArgument, "{}: is not base64", kField);
  std::size_t number = 0;
  bool inside = false;
  std::string body;
  for (const std::string_view raw : split(*text, '\n')) {
    const std::string_view line = trimmed(raw);
    if (line == kBeginCertificate) {
      if (inside) return error(Code::kInvalidArgument, "{}: certificate {} has no end", kField, number);
      ++number;
      inside = true;
      body.clear();
    } else if (line == kEndCertificate) {
      if (!inside || body.empty() || !codec::decode_base64(body).ok()) {
        return error(Code::kInvalidArgument, "{}: certificate {} is broken", kField, number);
      }
      inside = false;
    } else if (inside) {
      body += line;
    }
  }
  if (inside) return error(Code::kInvalidArgument, "{}: certificate {} has no end", kField, number);
  if (number == 0) return error(Code::kInvalidArgument, "{}: holds no PEM certificate", kField);
  return ClusterFile{std::string(kUserAuthoritiesPath), *text};
}

Result<std::string> proxy_lines(const api::ControllerConfigView& config) {
  std::string lines;
  const std::pair<std::string_view, std::string> settings[] = {
      {"HTTP_PROXY", config.http_proxy()}, {"HTTPS_PROXY", config.https_proxy()}, {"NO_PROXY", config.no_proxy()}};
  for (const auto& [name, value] : settings) {
    if (value.empty()) continue;
    // One line each, and nothing that an environment file would read as more than the value.
    const bool plain = std::ranges::all_of(value, [](char c) {
      return c > ' ' && c < 0x7f && c != '"' && c != '\'' && c != '\\' && c != '$' && c != '`';
    });
    if (!plain) {
      return error(Code::kInvalidArgument,
                   "ControllerConfig machine-config-controller: spec.proxy: the value for {} has a blank, a quote or a "
                   "character that is not ASCII; write it as in a URL (%20)",
                   name);
    }
    lines += fmt::format("{}={}\n", name, value);
  }
  return lines;
}

}  // namespace

Result<std::vector<ClusterFile>> cluster_files(const kube::Object& controller_config, const kube::Object* pull_secret) {
  const api::ControllerConfigView config(controller_config.json());
  std::vector<ClusterFile> files;
  if (pull_secret != nullptr && !pull_secret->deleting()) {
    STRAKE_TRY(ClusterFile file, pull_secret_file(*pull_secret));
    files.push_back(std::move(file));
  }
  if (!config.trust_bundle_base64().empty()) {
    STRAKE_TRY(ClusterFile file, authorities_file(config.trust_bundle_base64()));
    files.push_back(std::move(file));
  }
  STRAKE_TRY(std::string proxy, proxy_lines(config));
  if (!proxy.empty()) files.push_back({std::string(kProxyEnvironmentPath), std::move(proxy)});
  return files;
}

}  // namespace strake::machineconfig
