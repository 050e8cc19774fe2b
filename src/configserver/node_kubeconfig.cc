#include "configserver/node_kubeconfig.h"

#include "api/kinds.h"
#include "api/roles.h"
#include "codec/base64.h"
#include "kube/kubeconfig.h"

namespace strake::configserver {

namespace {

/// A base64 value of a Secret's data or a ConfigMap's binaryData; "" when there is none.
Result<std::string> decoded_value(const kube::ObjectPtr& object, std::string_view member, std::string_view key) {
  if (!object) return std::string();
  const auto value = json::find_string(object->json(), {member, key});
  if (!value) return std::string();
  STRAKE_TRY_CONTEXT(std::string decoded, codec::decode_base64(*value), "{} {}: {}.{}", object->kind(),
                     object->key().to_string(), member, key);
  return decoded;
}

/// The bundle the operator gathered is wider than the one in the Secret.
Result<std::string> api_server_ca(const NodeKubeconfigInput& input) {
  STRAKE_TRY(std::string gathered, decoded_value(input.ca_config_map, "binaryData", "ca-bundle.crt"));
  if (!gathered.empty()) return gathered;
  if (input.ca_config_map) {
    const std::string text = input.ca_config_map->text({"data", "ca-bundle.crt"});
    if (!text.empty()) return text;
  }
  return decoded_value(input.token_secret, "data", "ca.crt");
}

}  // namespace

Result<std::string> node_kubeconfig(const NodeKubeconfigInput& input) {
  STRAKE_TRY(const std::string ca, api_server_ca(input));
  STRAKE_TRY(const std::string token, decoded_value(input.token_secret, "data", "token"));
  if (token.empty() && !input.token_optional) {
    return error(Code::kNotFound,
                 "Secret {}/{} with a token is missing: new machines could not register; make it, or serve without one "
                 "(--no-bootstrap-token)",
                 api::kMachineConfigNamespace, api::serving_object::kBootstrapToken);
  }
  kube::Kubeconfig config;
  config.current_context = "kubelet";
  config.clusters["local"].server = input.api_server_url;
  config.clusters["local"].ca_pem = ca;
  config.users["kubelet"].token = token;
  config.contexts["kubelet"] = {{}, "local", "kubelet", ""};
  return kube::write_kubeconfig(config);
}

}  // namespace strake::configserver
