#include "stub/managed_stub.h"

#include "api/kinds.h"
#include "api/node_annotations.h"
#include "base/text.h"
#include "codec/base64.h"
#include "codec/data_url.h"
#include "ignition/config.h"
#include "stub/references.h"
#include "stub/stub.h"

namespace strake::stub {

namespace {

constexpr std::string_view kManagedSuffix = "-user-data-managed";
/// Tells machine controllers that the config is no template of theirs. The line feed is the platform's.
constexpr std::string_view kNotATemplate = "true\n";

kube::OwnerReference owner_of(const kube::Object& pool) {
  kube::OwnerReference owner;
  owner.api_version = api::kMachineConfigPool.api_version();
  owner.kind = api::kMachineConfigPool.kind;
  owner.name = pool.name();
  owner.uid = pool.uid();
  owner.controller = false;
  owner.block_owner_deletion = false;
  return owner;
}

}  // namespace

std::string managed_stub_name(const std::string& pool) { return pool + std::string(kManagedSuffix); }

std::string pool_of_managed_stub(const std::string& secret) {
  return secret.ends_with(kManagedSuffix) ? secret.substr(0, secret.size() - kManagedSuffix.size()) : "";
}

std::string managed_stub_text(const ManagedStub& stub) {
  json::Object reference{{"source", fmt::format("{}/config/{}", stub.url, stub.pool)}};
  if (stub.headers) reference["httpHeaders"] = *stub.headers;
  const std::string authority = codec::encode_base64_data_url(stub.trusted_pem, "text/plain;charset=utf-8");
  const json::Value config = json::Object{
      {"ignition",
       json::Object{
           {"config", json::Object{{"merge", json::Array{std::move(reference)}}}},
           {"security", json::Object{{"tls", json::Object{{"certificateAuthorities",
                                                           json::Array{json::Object{{"source", authority}}}}}}}},
           {"version", ignition::to_string(kConvertedVersion)}}}};
  return json::write(config);
}

Result<kube::Object> managed_stub_secret(const kube::Object& pool, const ManagedStub& stub,
                                         const kube::Object* present) {
  const std::string name = managed_stub_name(pool.name());
  if (present != nullptr && !present->label(api::label::kManagedStub)) {
    return error(Code::kExists,
                 "Secret {} has the name of a stub Strake writes and not its label, so it is somebody's own; rename "
                 "it, or give it the label {}",
                 name, api::label::kManagedStub);
  }
  kube::Object secret =
      present != nullptr ? *present : kube::Object(kube::core::kSecret, {std::string(api::kMachineApiNamespace), name});
  if (present == nullptr) secret.json().as_object()["type"] = "Opaque";
  secret.set_label(api::label::kManagedStub, "");
  bool owned = false;
  for (const kube::OwnerReference& owner : secret.owners()) owned = owned || owner.uid == pool.uid();
  if (!owned) {
    // A pool that was made again has another uid, and the reference to the old one would have the stub collected.
    if (json::Value* metadata = json::find(secret.json(), {"metadata"})) {
      metadata->as_object().erase("ownerReferences");
    }
    secret.add_owner(owner_of(pool));
  }
  json::ensure(secret.json(), {"data", kUserDataKey}) = codec::encode_base64(managed_stub_text(stub));
  json::ensure(secret.json(), {"data", "disableTemplating"}) = codec::encode_base64(kNotATemplate);
  return secret;
}

std::optional<json::Value> headers_of(const kube::Object& secret) {
  const auto bytes = stub_text(secret);
  if (!bytes.ok()) return std::nullopt;
  const auto text = ignition::decode_config_bytes(*bytes);
  const auto config = text.ok() ? json::parse(*text) : Result<json::Value>(text.error());
  if (!config.ok()) return std::nullopt;
  const json::Value* merge = json::find(*config, {"ignition", "config", "merge"});
  if (merge == nullptr || !merge->is_array() || merge->get_array().empty()) return std::nullopt;
  const json::Value* headers = json::find(merge->get_array().front(), {"httpHeaders"});
  return headers != nullptr && headers->is_array() ? std::optional(*headers) : std::nullopt;
}

}  // namespace strake::stub
