#include "stub/references.h"

#include <algorithm>
#include <map>

#include "api/kinds.h"
#include "api/machine_set.h"
#include "api/node_annotations.h"
#include "codec/base64.h"

namespace strake::stub {

namespace {

constexpr std::string_view kClusterApiGroup = "cluster.x-k8s.io/";
constexpr std::string_view kClusterApiKey = "value";

/// Where the providers of the Machine API name the Secret; bare metal has a name of its own.
constexpr std::string_view kReferenceMembers[] = {"userDataSecret", "userData"};

bool is_cluster_api(const kube::Object& object) { return object.api_version().starts_with(kClusterApiGroup); }

/// Machines keep their description at another place than sets.
const json::Value* provider_spec_of(const kube::Object& object) {
  const json::Value* of_machine = json::find(object.json(), {"spec", "providerSpec", "value"});
  return of_machine != nullptr ? of_machine : api::MachineSetView(object.json()).provider_spec();
}

std::optional<SecretReference> cluster_api_reference(const kube::Object& object) {
  const json::Value* spec = json::find(object.json(), {"spec"});
  if (spec == nullptr) return std::nullopt;
  // Sets and deployments have a template of what a Machine says itself.
  const json::Value* of_template = json::find(*spec, {"template", "spec", "bootstrap"});
  const json::Value* bootstrap = of_template != nullptr ? of_template : json::find(*spec, {"bootstrap"});
  const auto name = bootstrap == nullptr ? std::nullopt : json::find_string(*bootstrap, {"dataSecretName"});
  if (!name || name->empty()) return std::nullopt;
  return SecretReference{object.ns(), *name, std::string(kClusterApiKey)};
}

bool has_known_name(std::string_view name) {
  return name.ends_with("-user-data") || name.ends_with("-user-data-managed");
}

/// Where the stub lies in a Secret that nobody names.
std::string_view key_in(const kube::Object& secret) {
  const bool of_cluster_api = json::find(secret.json(), {"data", kUserDataKey}) == nullptr &&
                              json::find(secret.json(), {"data", kClusterApiKey}) != nullptr;
  return of_cluster_api ? kClusterApiKey : kUserDataKey;
}

void read_bytes(FoundStub& found, const kube::Object& secret) {
  found.managed = secret.label(api::label::kManagedStub).has_value();
  found.converted_from = secret.annotation(api::stub_annotation::kConvertedFrom).value_or("");
  auto text = stub_text(secret, found.key);
  if (text.ok()) {
    found.bytes = *std::move(text);
  } else {
    found.problem = text.error().to_string();
  }
}

std::string escaped_pointer(std::string_view name) {
  std::string escaped;
  for (const char c : name) escaped += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return escaped;
}

}  // namespace

Result<std::string> stub_text(const kube::Object& secret, std::string_view key) {
  const auto value = json::find_string(secret.json(), {"data", key});
  if (!value) return error(Code::kInvalidArgument, "the Secret has no key '{}'", key);
  auto text = codec::decode_base64(*value);
  if (!text.ok()) return error(Code::kInvalidArgument, "data.{} is no base64", key);
  return text;
}

std::optional<SecretReference> stub_of(const kube::Object& object) {
  if (is_cluster_api(object)) return cluster_api_reference(object);
  const json::Value* provider = provider_spec_of(object);
  if (provider == nullptr) return std::nullopt;
  for (const std::string_view member : kReferenceMembers) {
    const auto name = json::find_string(*provider, {member, "name"});
    if (!name || name->empty()) continue;
    const auto ns = json::find_string(*provider, {member, "namespace"});
    return SecretReference{ns && !ns->empty() ? *ns : object.ns(), *name, std::string(kUserDataKey)};
  }
  return std::nullopt;
}

std::vector<FoundStub> find_stubs(const StubObjects& objects) {
  std::map<std::tuple<std::string, std::string, std::string>, FoundStub> found;
  const auto entry = [&](const std::string& ns, const std::string& name, const std::string& key) -> FoundStub& {
    FoundStub& stub = found[{ns, name, key}];
    stub.ns = ns;
    stub.secret = name;
    stub.key = key;
    return stub;
  };
  const std::pair<const std::vector<kube::ObjectPtr>*, std::string_view> lists[] = {
      {&objects.machine_sets, api::kMachineSet.kind},
      {&objects.control_plane_machine_sets, api::kControlPlaneMachineSet.kind},
      {&objects.machines, api::kMachine.kind},
      {&objects.cluster_api, ""}};
  for (const auto& [list, kind] : lists) {
    for (const kube::ObjectPtr& object : *list) {
      const auto reference = stub_of(*object);
      if (!reference) continue;
      entry(reference->ns, reference->name, reference->key)
          .users.push_back({kind.empty() ? object->kind() : std::string(kind), object->ns(), object->name()});
    }
  }
  for (const kube::ObjectPtr& secret : objects.secrets) {
    if (!has_known_name(secret->name()) && !secret->annotation(api::stub_annotation::kConvertedFrom)) continue;
    const auto named = found.lower_bound({secret->ns(), secret->name(), ""});
    const bool is_used =
        named != found.end() && named->second.ns == secret->ns() && named->second.secret == secret->name();
    if (!is_used) entry(secret->ns(), secret->name(), std::string(key_in(*secret)));
  }
  std::map<kube::ObjectKey, kube::ObjectPtr> secrets;
  for (const kube::ObjectPtr& secret : objects.secrets) secrets.emplace(secret->key(), secret);
  for (auto& [key, stub] : found) {
    const auto secret = secrets.find({stub.ns, stub.secret});
    if (secret == secrets.end()) {
      stub.problem = "the Secret is not there";
    } else {
      read_bytes(stub, *secret->second);
    }
    std::ranges::sort(stub.users);
  }
  std::vector<FoundStub> stubs;
  stubs.reserve(found.size());
  for (auto& [key, stub] : found) stubs.push_back(std::move(stub));
  return stubs;
}

Result<json::Value> repoint_patch(const kube::Object& machine_set, const std::string& from, const std::string& to) {
  const api::MachineSetView view(machine_set.json());
  if (!view.owned_by_machine_api()) {
    return error(Code::kUnsupported, "{} {} belongs to the Cluster API now; change it there", machine_set.kind(),
                 machine_set.name());
  }
  const json::Value* provider = view.provider_spec();
  for (const std::string_view member : kReferenceMembers) {
    if (provider == nullptr || json::find_string(*provider, {member, "name"}) != from) continue;
    const std::string place = fmt::format(
        "/spec/template{}/spec/providerSpec/value/{}/name",
        view.is_control_plane() ? "/" + escaped_pointer("machines_v1beta1_machine_openshift_io") : std::string(),
        member);
    return json::Value(json::Array{json::Object{{"op", "test"}, {"path", place}, {"value", from}},
                                   json::Object{{"op", "replace"}, {"path", place}, {"value", to}}});
  }
  return error(Code::kUnsupported, "{} {} does not use Secret {}", machine_set.kind(), machine_set.name(), from);
}

kube::Object converted_copy(const kube::Object& secret, const std::string& name, const std::string& key,
                            std::string_view stub) {
  kube::Object copy(kube::core::kSecret, {secret.ns(), name});
  for (const char* member : {"data", "type"}) {
    if (const json::Value* value = json::find(secret.json(), {member})) copy.json().as_object()[member] = *value;
  }
  json::ensure(copy.json(), {"data", key}) = codec::encode_base64(stub);
  copy.set_annotation(api::stub_annotation::kConvertedFrom, secret.name());
  return copy;
}

}  // namespace strake::stub
