#include "configserver/testing/objects.h"

#include "api/kinds.h"
#include "codec/base64.h"
#include "codec/data_url.h"

namespace strake::configserver::objects {

json::Value from_text(std::string_view text) {
  auto value = json::parse(text);
  STRAKE_INVARIANT(value.ok());
  return *std::move(value);
}

kube::Object rendered(const std::string& name, std::string_view ignition, std::string_view more_spec) {
  kube::Object object(api::kMachineConfig, {"", name});
  object.json().as_object()["spec"] =
      from_text(fmt::format(R"({{"osImageURL":"quay.io/os@sha256:1"{},"config":{}}})", more_spec, ignition));
  return object;
}

kube::Object pool(const std::string& name, const std::string& target, const std::string& reached, int updated) {
  kube::Object object(api::kMachineConfigPool, {"", name});
  if (!target.empty()) json::ensure(object.json(), {"spec", "configuration", "name"}) = target;
  if (!reached.empty()) json::ensure(object.json(), {"status", "configuration", "name"}) = reached;
  json::ensure(object.json(), {"status", "updatedMachineCount"}) = updated;
  return object;
}

kube::Object controller_config(std::string_view api_server_ca, std::string_view cloud_ca) {
  kube::Object object(api::kControllerConfig, {"", std::string(api::kControllerConfigName)});
  json::ensure(object.json(), {"spec", "kubeAPIServerServingCAData"}) = codec::encode_base64(api_server_ca);
  json::ensure(object.json(), {"spec", "cloudProviderCAData"}) = codec::encode_base64(cloud_ca);
  return object;
}

namespace {

kube::Object secret(const std::string& name) {
  return {kube::core::kSecret, {std::string(api::kMachineConfigNamespace), name}};
}

}  // namespace

kube::Object bootstrap_token(std::string_view token, std::string_view ca) {
  kube::Object object = secret("node-bootstrapper-token");
  json::ensure(object.json(), {"data", "token"}) = codec::encode_base64(token);
  json::ensure(object.json(), {"data", "ca.crt"}) = codec::encode_base64(ca);
  return object;
}

kube::Object serving_secret(std::string_view certificate_pem, std::string_view key_pem) {
  kube::Object object = secret("machine-config-server-tls");
  json::ensure(object.json(), {"data", "tls.crt"}) = codec::encode_base64(certificate_pem);
  json::ensure(object.json(), {"data", "tls.key"}) = codec::encode_base64(key_pem);
  return object;
}

std::string file_in(const json::Value& config, std::string_view path) {
  const json::Value* files = json::find(config, {"storage", "files"});
  if (files == nullptr) return "absent";
  for (const json::Value& file : files->as_array()) {
    if (json::find_string(file, {"path"}) != path) continue;
    const auto url = codec::parse_data_url(json::find_string(file, {"contents", "source"}).value_or("data:,"));
    STRAKE_INVARIANT(url.ok());
    return url->data;
  }
  return "absent";
}

}  // namespace strake::configserver::objects
