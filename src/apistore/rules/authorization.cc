#include "apistore/rules/authorization.h"

#include <algorithm>
#include <array>
#include <span>

#include "api/kinds.h"
#include "api/node_annotations.h"
#include "api/roles.h"
#include "codec/json_patch.h"
#include "kube/resource.h"

namespace strake::apistore {

namespace {

constexpr std::string_view kKubeletUserPrefix = "system:node:";
constexpr std::string_view kKubeletGroup = "system:nodes";

constexpr std::string_view kConfigs = "machineconfiguration.openshift.io";
constexpr std::string_view kMachines = "machine.openshift.io";
constexpr std::string_view kPlatform = "config.openshift.io";

/// Which objects of a resource a rule is about.
enum class Which { kAll, kOwnNode, kNamedConfigs, kClusterSingleton, kServingSecrets, kServingConfigMap, kCallers };

struct RoleRule {
  std::string_view verbs;  ///< with blanks between them
  std::string_view group;
  std::string_view resource;
  Which which = Which::kAll;
  std::string_view ns = "";  ///< "": any
};

constexpr std::string_view kRead = "get list watch";

/// New kinds are seen by nobody until they are put here: what may hold a secret (Secrets, ConfigMaps, MachineConfigs,
/// ControllerConfigs, the environment of Pods) must not be.
constexpr RoleRule kViewerRules[] = {
    {kRead, kConfigs, "machineconfigpools"},
    {kRead, kConfigs, "machineconfignodes"},
    {kRead, kConfigs, "osimagestreams"},
    {kRead, kConfigs, "machineosconfigs"},
    {kRead, kConfigs, "machineosbuilds"},
    {kRead, kConfigs, "kubeletconfigs"},
    {kRead, kConfigs, "containerruntimeconfigs"},
    {kRead, "operator.openshift.io", "machineconfigurations"},
    {kRead, "operator.openshift.io", "imagecontentsourcepolicies"},
    {kRead, kMachines, "machines"},
    {kRead, kMachines, "machinesets"},
    {kRead, kMachines, "controlplanemachinesets"},
    {kRead, kPlatform, "clusterversions"},
    {kRead, kPlatform, "clusteroperators"},
    {kRead, kPlatform, "infrastructures"},
    {kRead, kPlatform, "imagedigestmirrorsets"},
    {kRead, kPlatform, "imagetagmirrorsets"},
    {kRead, kPlatform, "images"},
    {kRead, kPlatform, "clusterimagepolicies"},
    {kRead, kPlatform, "imagepolicies"},
    {kRead, "strake.dev", "strakeconfigs"},
    {kRead, "", "nodes"},
    {kRead, "", "events"},
    {kRead, "", "namespaces"},
    {kRead, "policy", "poddisruptionbudgets"},
    {kRead, "coordination.k8s.io", "leases"},
};

constexpr RoleRule kConfigViewerRules[] = {
    {kRead, kConfigs, "machineconfigs"},
    {kRead, kConfigs, "controllerconfigs"},
};

constexpr RoleRule kAgentGroupRules[] = {
    {"get", "operator.openshift.io", "machineconfigurations", Which::kClusterSingleton},
};

constexpr RoleRule kAgentRules[] = {
    {kRead, "", "nodes", Which::kOwnNode},
    {"patch", "", "nodes/status", Which::kOwnNode},
    {"get", kConfigs, "machineconfigs", Which::kNamedConfigs},
};

constexpr RoleRule kConfigServerRules[] = {
    {kRead, kConfigs, "machineconfigpools"},
    {kRead, kConfigs, "machineconfigs"},
    {kRead, kConfigs, "controllerconfigs"},
    {kRead, kConfigs, "machineosconfigs"},
    {kRead, kConfigs, "machineosbuilds"},
    {kRead, "", "secrets", Which::kServingSecrets, api::kMachineConfigNamespace},
    {kRead, "", "configmaps", Which::kServingConfigMap, api::kMachineConfigNamespace},
    {"get patch", "", "configmaps", Which::kCallers, api::kMachineConfigNamespace},
    {"create patch", "", "events"},
};

constexpr RoleRule kKubeletRules[] = {
    {kRead, "", "nodes", Which::kOwnNode},
    {"create", "", "nodes", Which::kOwnNode},
    {"patch", "", "nodes/status", Which::kOwnNode},
};

/// What an agent reports with. All other annotations of its Node are somebody else's: what it is to run, whether it is
/// drained, which image it has.
constexpr std::array kReportAnnotations = {api::node_annotation::kCurrentConfig, api::node_annotation::kState,
                                           api::node_annotation::kReason, api::node_annotation::kExecutedClass};
/// Bytes of one of them; an agent cuts its reason to half of it.
constexpr std::size_t kMaxReportBytes = 2 * api::kMaxReasonLength;

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::string name_behind(std::string_view prefix, const std::string& user) {
  return user.starts_with(prefix) ? user.substr(prefix.size()) : "";
}

/// All rules that are about a caller.
std::vector<std::span<const RoleRule>> roles_of(const Caller& caller) {
  std::vector<std::span<const RoleRule>> roles;
  if (caller.in_group(api::kViewerGroup)) roles.emplace_back(kViewerRules);
  if (caller.in_group(api::kConfigViewerGroup)) roles.emplace_back(kConfigViewerRules);
  if (caller.in_group(api::kAgentGroup)) roles.emplace_back(kAgentGroupRules);
  if (caller.in_group(api::kConfigServerGroup)) roles.emplace_back(kConfigServerRules);
  if (!caller.agent_node().empty()) roles.emplace_back(kAgentRules);
  if (!caller.kubelet_node().empty()) roles.emplace_back(kKubeletRules);
  return roles;
}

/// nullopt: all.
std::optional<std::vector<std::string>> names_of(Which which, const Caller& caller,
                                                 const std::vector<std::string>& named_configs) {
  switch (which) {
    case Which::kAll: return std::nullopt;
    case Which::kOwnNode: {
      const std::string agent = caller.agent_node();
      return std::vector<std::string>{agent.empty() ? caller.kubelet_node() : agent};
    }
    case Which::kNamedConfigs: return named_configs;
    case Which::kServingSecrets:
      return std::vector<std::string>{std::string(api::serving_object::kIdentity),
                                      std::string(api::serving_object::kBootstrapToken),
                                      std::string(api::serving_object::kAccess)};
    case Which::kServingConfigMap: return std::vector<std::string>{std::string(api::serving_object::kApiServerCa)};
    case Which::kCallers: return std::vector<std::string>{std::string(api::serving_object::kCallers)};
    case Which::kClusterSingleton: return std::vector<std::string>{std::string(api::kMachineConfigurationName)};
  }
  return std::vector<std::string>();
}

std::string resource_of(const Access& access) {
  return access.subresource.empty() ? access.plural : access.plural + "/" + access.subresource;
}

bool is_about(const RoleRule& rule, const Access& access) {
  const std::vector<std::string_view> verbs = words_of(rule.verbs);
  return rule.group == access.group && rule.resource == resource_of(access) &&
         (rule.ns.empty() || rule.ns == access.ns) && std::find(verbs.begin(), verbs.end(), access.verb) != verbs.end();
}

Error forbidden(const Caller& caller, const Access& access, std::string_view why = "") {
  const std::string object = access.group.empty() ? access.plural : access.plural + "." + access.group;
  const std::string where =
      access.ns.empty() ? "at the cluster scope" : fmt::format("in the namespace \"{}\"", access.ns);
  const std::string subject = access.name.empty() ? object : fmt::format("{} \"{}\"", object, access.name);
  std::string message = fmt::format("{} is forbidden: User \"{}\" cannot {} resource \"{}\" in API group \"{}\" {}",
                                    subject, caller.user, access.verb, resource_of(access), access.group, where);
  if (!why.empty()) message += fmt::format(": {}", why);
  return Error(Code::kDenied, std::move(message)).with_reason("Forbidden");
}

const json::Object& annotations_of(const json::Value& object) {
  static const json::Object kNone;
  const json::Value* found = json::find(object, {"metadata", "annotations"});
  return found != nullptr && found->is_object() ? found->get_object() : kNone;
}

std::optional<std::string> annotation_of(const json::Value& object, std::string_view key) {
  const json::Value* value = annotations_of(object).if_contains(key);
  return value != nullptr && value->is_string() ? std::optional(std::string(value->get_string())) : std::nullopt;
}

/// The Node without its status and without these annotations, and without what the server counts itself.
json::Value all_but(json::Value node, std::span<const std::string_view> annotations) {
  node.get_object().erase("status");
  json::Value* metadata = node.get_object().if_contains("metadata");
  if (metadata == nullptr || !metadata->is_object()) return node;
  for (const std::string_view name : {"resourceVersion", "generation", "managedFields"}) {
    metadata->get_object().erase(name);
  }
  json::Value* map = metadata->get_object().if_contains("annotations");
  if (map == nullptr || !map->is_object()) return node;
  for (const std::string_view key : annotations) map->get_object().erase(key);
  if (map->get_object().empty()) metadata->get_object().erase("annotations");
  return node;
}

/// Why an agent may not make this change of its own Node; "" when it may.
std::string fault_of_report(const json::Value& before, const json::Value& after) {
  if (!json::same_value(all_but(before, kReportAnnotations), all_but(after, kReportAnnotations))) {
    return fmt::format("an agent may change the status of its node and the annotations {} only",
                       fmt::join(kReportAnnotations, ", "));
  }
  // What a Node names may be read, so an agent must not choose the name.
  const std::string_view current = api::node_annotation::kCurrentConfig;
  const auto now = annotation_of(after, current);
  if (now != annotation_of(before, current) && now != annotation_of(before, api::node_annotation::kDesiredConfig)) {
    return fmt::format("{} may only become what {} is", current, api::node_annotation::kDesiredConfig);
  }
  for (const std::string_view key : kReportAnnotations) {
    const auto value = annotation_of(after, key);
    if (value && value->size() > kMaxReportBytes && value != annotation_of(before, key)) {
      return fmt::format("{} has more than {} bytes", key, kMaxReportBytes);
    }
  }
  return "";
}

/// Why a kubelet may not write its own Node so; "" when it may.
std::string fault_of_kubelet(const json::Value* before, const json::Value& after) {
  if (before == nullptr) {
    return annotations_of(after).empty() ? "" : "a kubelet may not annotate the node it makes";
  }
  return json::same_value(all_but(*before, {}), all_but(after, {})) ? "" : "a kubelet may change the status only";
}

}  // namespace

bool Caller::in_group(std::string_view group) const {
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

std::string Caller::agent_node() const { return name_behind(api::kAgentUserPrefix, user); }

std::string Caller::kubelet_node() const {
  return in_group(kKubeletGroup) ? name_behind(kKubeletUserPrefix, user) : "";
}

Caller Caller::system(std::string_view component) { return {fmt::format("system:{}", component), {"system:masters"}}; }

Caller Caller::agent(std::string_view node) {
  return {fmt::format("{}{}", api::kAgentUserPrefix, node), {std::string(api::kAgentGroup)}};
}

Caller Caller::kubelet(std::string_view node) {
  return {fmt::format("{}{}", kKubeletUserPrefix, node), {std::string(kKubeletGroup)}};
}

Caller Caller::config_server(std::string_view name) {
  return {fmt::format("strake:config-server:{}", name), {std::string(api::kConfigServerGroup)}};
}

bool needs_named_configs(const Caller& caller, const Access& access) {
  return !caller.is_admin() && !caller.agent_node().empty() && access.group == api::kMachineConfig.group &&
         access.plural == api::kMachineConfig.plural;
}

Status authorize(const Caller& caller, const Access& access, const Evidence& evidence) {
  if (caller.is_admin()) return {};
  bool granted = false;
  for (const std::span<const RoleRule> role : roles_of(caller)) {
    for (const RoleRule& rule : role) {
      if (!is_about(rule, access)) continue;
      const auto names = names_of(rule.which, caller, evidence.named_configs);
      granted = granted || !names || std::find(names->begin(), names->end(), access.name) != names->end();
    }
  }
  if (!granted) return forbidden(caller, access);
  if (evidence.after == nullptr) return {};
  std::string fault;
  if (!caller.agent_node().empty()) {
    fault = evidence.before == nullptr ? "an agent makes nothing" : fault_of_report(*evidence.before, *evidence.after);
  } else if (!caller.kubelet_node().empty()) {
    fault = fault_of_kubelet(evidence.before, *evidence.after);
  }
  if (!fault.empty()) return forbidden(caller, access, fault);
  return {};
}

std::vector<Grant> grants_of(const Caller& caller, const std::vector<std::string>& named_configs) {
  std::vector<Grant> grants;
  for (const std::span<const RoleRule> role : roles_of(caller)) {
    for (const RoleRule& rule : role) {
      auto names = names_of(rule.which, caller, named_configs);
      if (names && names->empty()) continue;
      grants.push_back({words_of(rule.verbs), rule.group, rule.resource, std::move(names)});
    }
  }
  return grants;
}

}  // namespace strake::apistore
