#include "rollout/agent_rights.h"

#include "api/kinds.h"
#include "codec/json_patch.h"

namespace strake::rollout {

namespace {

constexpr std::string_view kRbacGroup = "rbac.authorization.k8s.io";

kube::InformerOptions rights_informer_options(const kube::Hooks& hooks) {
  kube::InformerOptions options;
  options.label_selector = std::string(kAgentRightsLabel);
  options.resync = std::chrono::minutes(5);
  options.hooks = hooks;
  return options;
}

std::string agent_user(const std::string& node) { return std::string(api::kAgentUserPrefix) + node; }

kube::Object owned_by(const api::NodeView& node, const kube::Resource& resource) {
  kube::Object object(resource, {"", agent_user(node.name)});
  object.set_label(kAgentRightsLabel, "");
  // Without blockOwnerDeletion, which would ask for a right on the Node's finalizers.
  json::ensure(object.json(), {"metadata", "ownerReferences"}) = json::Array{
      json::Object{{"apiVersion", "v1"}, {"kind", kube::core::kNode.kind}, {"name", node.name}, {"uid", node.uid}}};
  return object;
}

json::Object role_rule(json::Array verbs, std::string_view group, std::string_view resource, json::Array names) {
  return {{"verbs", std::move(verbs)},
          {"apiGroups", json::Array{group}},
          {"resources", json::Array{resource}},
          {"resourceNames", std::move(names)}};
}

}  // namespace

kube::Object agent_role(const api::NodeView& node, const std::set<std::string>& configs) {
  kube::Object role = owned_by(node, kClusterRole);
  json::Array rules;
  rules.push_back(role_rule({"get", "list", "watch"}, "", kube::core::kNode.plural, {node.name}));
  rules.push_back(role_rule({"patch"}, "", "nodes/status", {node.name}));
  // A rule without names would be about all of them.
  if (!configs.empty()) {
    json::Array names;
    for (const std::string& config : configs) names.emplace_back(json::Value(config));
    rules.push_back(role_rule({"get"}, api::kMachineConfig.group, api::kMachineConfig.plural, std::move(names)));
  }
  role.json().get_object()["rules"] = std::move(rules);
  return role;
}

kube::Object agent_binding(const api::NodeView& node) {
  kube::Object binding = owned_by(node, kClusterRoleBinding);
  const std::string user = agent_user(node.name);
  json::Object& root = binding.json().get_object();
  root["roleRef"] = json::Object{{"apiGroup", kRbacGroup}, {"kind", kClusterRole.kind}, {"name", user}};
  root["subjects"] = json::Array{json::Object{{"apiGroup", kRbacGroup}, {"kind", "User"}, {"name", user}}};
  return binding;
}

json::Value rights_patch(const kube::Object& present, const kube::Object& wanted) {
  json::Value patch = json::Object{};
  if (present.annotation(kAutoUpdateAnnotation) == "false") return patch;
  const auto differs = [&](std::initializer_list<std::string_view> path) {
    const json::Value* want = json::find(wanted.json(), path);
    const json::Value* have = json::find(present.json(), path);
    return want != nullptr && (have == nullptr || !json::same_value(*want, *have));
  };
  const auto take_over = [&](std::initializer_list<std::string_view> path) {
    if (differs(path)) json::ensure(patch, path) = *json::find(wanted.json(), path);
  };
  take_over({"rules"});
  take_over({"subjects"});
  take_over({"roleRef"});
  take_over({"metadata", "ownerReferences"});
  if (!present.label(kAgentRightsLabel)) json::ensure(patch, {"metadata", "labels", kAgentRightsLabel}) = "";
  return patch;
}

Result<bool> serves_roles(kube::KubeApi& api, const kube::Call& call) {
  kube::ListOptions one;
  one.limit = 1;
  const auto listed = api.list(kClusterRole, "", one, call);
  if (listed.ok() || listed.error().code() == Code::kDenied) return true;
  if (listed.error().code() == Code::kNotFound) return false;
  return Error(listed.error()).context("asking whether the server has roles");
}

AgentRights::AgentRights(runtime::Runtime& runtime, kube::KubeApi& api, const kube::Hooks& hooks)
    : api_(api),
      roles_(runtime, api, kClusterRole, rights_informer_options(hooks)),
      bindings_(runtime, api, kClusterRoleBinding, rights_informer_options(hooks)) {}

std::string AgentRights::node_of(const kube::Object& object) {
  const std::string name = object.name();
  return name.starts_with(api::kAgentUserPrefix) ? name.substr(api::kAgentUserPrefix.size()) : "";
}

kube::ObjectPtr AgentRights::present(const kube::Informer& cache, WrittenBook& written, const std::string& name) {
  kube::ObjectPtr cached = cache.get({"", name});
  const auto ours = written.find(name);
  if (ours == written.end()) return cached;
  if (!cached || kube::is_older_version(cached->resource_version(), ours->second.version)) return ours->second.object;
  written.erase(ours);
  return cached;
}

Status AgentRights::put(const kube::Informer& cache, WrittenBook& written, const kube::Object& wanted,
                        const kube::Call& call) {
  const auto note = [&](Result<kube::Object> answer) -> Status {
    if (!answer.ok()) return answer.error();
    const std::string version = answer->resource_version();
    written[wanted.name()] = {version, std::make_shared<const kube::Object>(*std::move(answer))};
    return {};
  };
  if (const kube::ObjectPtr known = present(cache, written, wanted.name())) {
    const json::Value patch = rights_patch(*known, wanted);
    if (patch.get_object().empty()) return {};
    Status patched = note(api_.patch(cache.resource(), wanted.key(), kube::PatchType::kMerge, patch, {}, call));
    if (patched.ok() || patched.error().code() != Code::kNotFound) return patched;
    written.erase(wanted.name());
  }
  Status created = note(api_.create(cache.resource(), wanted, {}, call));
  if (created.ok() || created.error().code() != Code::kExists) return created;
  // Without our label the cache does not show it.
  auto found = api_.get(cache.resource(), wanted.key(), call);
  if (!found.ok()) return found.error();
  const json::Value patch = rights_patch(*found, wanted);
  if (patch.get_object().empty()) return note(std::move(found));
  return note(api_.patch(cache.resource(), wanted.key(), kube::PatchType::kMerge, patch, {}, call));
}

Status AgentRights::allow(const api::NodeView& node, const std::string& config, const kube::Call& call) {
  promised_[node.name] = config;
  return keep(node, call);
}

Status AgentRights::keep(const api::NodeView& node, const kube::Call& call) {
  if (node.is_windows()) return {};
  std::set<std::string> configs;
  const auto add = [&](const std::string& name) {
    if (!name.empty()) configs.insert(name);
  };
  add(node.current_config);
  add(node.desired_config);
  if (const auto promised = promised_.find(node.name); promised != promised_.end()) {
    add(promised->second);
    if (promised->second == node.desired_config) promised_.erase(promised);
  }
  Status kept = put(roles_, written_roles_, agent_role(node, configs), call);
  if (kept.ok()) kept = put(bindings_, written_bindings_, agent_binding(node), call);
  if (kept.ok()) return {};
  const char* advice = kept.error().code() == Code::kDenied
                           ? "; deploy/rbac/10-controller.yaml has the rights the controller needs"
                           : "";
  return Error(kept.error()).context(fmt::format("keeping the rights of the agent of node {}{}", node.name, advice));
}

void AgentRights::forget(const std::string& node) {
  promised_.erase(node);
  written_roles_.erase(agent_user(node));
  written_bindings_.erase(agent_user(node));
}

}  // namespace strake::rollout
