#include "machineconfig/impact/disruption_policy.h"

#include <algorithm>
#include <filesystem>

#include "api/machine_configuration.h"
#include "base/unit_name.h"

namespace strake::machineconfig {

namespace {

constexpr std::size_t kMaxActions = 10;
constexpr std::size_t kMaxUserEntries = 50;
constexpr std::size_t kMaxMergedEntries = 100;

constexpr ActionType kActionTypes[] = {ActionType::kNone,    ActionType::kDaemonReload, ActionType::kReload,
                                       ActionType::kRestart, ActionType::kDrain,        ActionType::kReboot,
                                       ActionType::kSpecial};

std::optional<ActionType> parse_action_type(std::string_view text, PolicyPlace place) {
  for (const ActionType type : kActionTypes) {
    if (type == ActionType::kSpecial && place == PolicyPlace::kSpec) continue;
    if (text == to_string(type)) return type;
  }
  return std::nullopt;
}

Error policy_error(const std::string& where, std::string_view what) {
  return error(Code::kInvalidArgument, "{}: {}", where, what);
}

Result<PolicyAction> parse_action(const json::Value& value, PolicyPlace place, const std::string& where) {
  const std::string text = json::find_string(value, {"type"}).value_or("");
  const auto type = parse_action_type(text, place);
  if (!type) {
    return policy_error(where + ".type",
                        fmt::format("'{}' is not Reboot, Drain, Reload, Restart, DaemonReload or None", text));
  }
  PolicyAction action{*type, {}};
  const struct {
    std::string_view member;
    ActionType type;
  } kinds[] = {{"reload", ActionType::kReload}, {"restart", ActionType::kRestart}};
  for (const auto& kind : kinds) {
    const json::Value* detail = json::find(value, {kind.member});
    const bool given = detail != nullptr && !detail->is_null();
    if (given != (action.type == kind.type)) {
      return policy_error(where,
                          fmt::format("'{}' is given exactly when the type is {}", kind.member, to_string(kind.type)));
    }
    if (!given) continue;
    action.service = json::find_string(*detail, {"serviceName"}).value_or("");
    if (is_unit_name(action.service)) continue;
    return policy_error(fmt::format("{}.{}.serviceName", where, kind.member),
                        fmt::format("'{}' is not the name of a unit", action.service));
  }
  return action;
}

Result<std::vector<PolicyAction>> parse_actions(const json::Value& entry, PolicyPlace place, const std::string& where) {
  std::vector<PolicyAction> actions;
  const json::Value* list = json::find(entry, {"actions"});
  if (list == nullptr || !list->is_array()) return policy_error(where, "a list of actions is needed");
  if (list->get_array().size() > kMaxActions) {
    return policy_error(where, fmt::format("more than {} actions", kMaxActions));
  }
  for (const json::Value& item : list->get_array()) {
    STRAKE_TRY(PolicyAction action, parse_action(item, place, fmt::format("{}[{}]", where, actions.size())));
    actions.push_back(std::move(action));
  }
  for (const PolicyAction& action : actions) {
    const bool stands_alone = action.type == ActionType::kReboot || action.type == ActionType::kNone;
    if (stands_alone && actions.size() > 1) {
      return policy_error(where, fmt::format("{} cannot be combined with other actions", to_string(action.type)));
    }
  }
  return actions;
}

Result<std::vector<PolicyEntry>> parse_entries(const json::Value& policy, std::string_view list_name,
                                               std::string_view key, PolicyPlace place) {
  std::vector<PolicyEntry> entries;
  const json::Value* list = json::find(policy, {list_name});
  if (list == nullptr || list->is_null()) return entries;
  const std::string where(list_name);
  if (!list->is_array()) return policy_error(where, "expected a list");
  const std::size_t limit = place == PolicyPlace::kSpec ? kMaxUserEntries : kMaxMergedEntries;
  if (list->get_array().size() > limit) return policy_error(where, fmt::format("more than {} entries", limit));
  for (const json::Value& item : list->get_array()) {
    const std::string item_where = fmt::format("{}[{}]", list_name, entries.size());
    PolicyEntry entry;
    entry.origin = place == PolicyPlace::kSpec ? PolicyOrigin::kUser : PolicyOrigin::kDefault;
    entry.target = json::find_string(item, {key}).value_or("");
    if (entry.target.empty()) return policy_error(fmt::format("{}.{}", item_where, key), "is missing");
    if (key == "name" && !is_unit_name(entry.target)) {
      return policy_error(item_where + ".name", fmt::format("'{}' is not the name of a unit", entry.target));
    }
    const bool repeated = std::any_of(entries.begin(), entries.end(),
                                      [&](const PolicyEntry& other) { return other.target == entry.target; });
    if (repeated) return policy_error(item_where, fmt::format("a second policy for {}", entry.target));
    STRAKE_TRY(entry.actions, parse_actions(item, place, item_where + ".actions"));
    entries.push_back(std::move(entry));
  }
  return entries;
}

json::Value actions_to_json(const std::vector<PolicyAction>& actions) {
  json::Array list;
  for (const PolicyAction& action : actions) {
    json::Object item{{"type", to_string(action.type)}};
    if (action.type == ActionType::kReload) item["reload"] = json::Object{{"serviceName", action.service}};
    if (action.type == ActionType::kRestart) item["restart"] = json::Object{{"serviceName", action.service}};
    list.push_back(std::move(item));
  }
  return list;
}

void overlay(std::vector<PolicyEntry>& base, const std::vector<PolicyEntry>& user) {
  for (const PolicyEntry& entry : user) {
    const auto same = std::ranges::find(base, entry.target, &PolicyEntry::target);
    if (same == base.end()) {
      base.push_back(entry);
    } else {
      *same = entry;
    }
  }
}

/// The status does not say which of its entries a user wrote; what the defaults do not have must be a user's.
void mark_origins(DisruptionPolicy& policy) {
  const DisruptionPolicy& defaults = default_disruption_policy();
  const auto mark = [](std::vector<PolicyEntry>& entries, const std::vector<PolicyEntry>& known) {
    for (PolicyEntry& entry : entries) {
      entry.origin = PolicyOrigin::kDefault;
      if (std::find(known.begin(), known.end(), entry) == known.end()) entry.origin = PolicyOrigin::kUser;
    }
  };
  mark(policy.files, defaults.files);
  mark(policy.units, defaults.units);
  if (policy.ssh_key && policy.ssh_key != defaults.ssh_key) policy.ssh_key->origin = PolicyOrigin::kUser;
}

}  // namespace

std::string_view to_string(ActionType type) {
  switch (type) {
    case ActionType::kNone: return "None";
    case ActionType::kDaemonReload: return "DaemonReload";
    case ActionType::kReload: return "Reload";
    case ActionType::kRestart: return "Restart";
    case ActionType::kDrain: return "Drain";
    case ActionType::kReboot: return "Reboot";
    case ActionType::kSpecial: return "Special";
  }
  return "unknown";
}

std::string PolicyAction::to_string() const {
  const std::string_view name = machineconfig::to_string(type);
  return service.empty() ? std::string(name) : fmt::format("{} {}", name, service);
}

const DisruptionPolicy& default_disruption_policy() {
  static const DisruptionPolicy kPolicy = [] {
    const PolicyAction none{ActionType::kNone, {}}, special{ActionType::kSpecial, {}},
        daemon_reload{ActionType::kDaemonReload, {}};
    const auto reload = [](std::string unit) { return PolicyAction{ActionType::kReload, std::move(unit)}; };
    const auto restart = [](std::string unit) { return PolicyAction{ActionType::kRestart, std::move(unit)}; };
    DisruptionPolicy policy;
    const auto file = [&](std::string path, std::vector<PolicyAction> actions) {
      policy.files.push_back({std::move(path), std::move(actions), PolicyOrigin::kDefault});
    };
    file("/var/lib/kubelet/config.json", {none});
    file("/etc/machine-config-daemon/no-reboot/containers-gpg.pub", {reload("crio.service")});
    file("/etc/containers/policy.json", {reload("crio.service")});
    file("/etc/containers/registries.conf", {special});
    file("/etc/containers/registries.d", {reload("crio.service")});
    file("/etc/crio/policies", {reload("crio.service")});
    file("/etc/nmstate/openshift", {none});
    file("/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt",
         {restart("coreos-update-ca-trust.service"), restart("crio.service")});
    file("/etc/kubernetes/credential-providers", {restart("kubelet.service")});
    file("/etc/systemd/system/kubelet.service.d/40-kubelet-crio-image-credential-provider.conf",
         {daemon_reload, restart("kubelet.service")});
    file("/etc/iri-registry", {restart("iri-registry.service")});
    file("/usr/local/bin/load-registry-image.sh", {restart("iri-registry.service")});
    file("/etc/pki/ca-trust/source/anchors/iri-root-ca.crt", {restart("coreos-update-ca-trust.service")});
    policy.units.push_back(
        {"iri-registry.service", {daemon_reload, restart("iri-registry.service")}, PolicyOrigin::kDefault});
    policy.ssh_key = PolicyEntry{"", {none}, PolicyOrigin::kDefault};
    return policy;
  }();
  return kPolicy;
}

Result<DisruptionPolicy> parse_disruption_policy(const json::Value& policy, PolicyPlace place) {
  DisruptionPolicy parsed;
  if (policy.is_null()) return parsed;
  if (!policy.is_object()) return error(Code::kInvalidArgument, "a disruption policy is an object");
  STRAKE_TRY(parsed.files, parse_entries(policy, "files", "path", place));
  STRAKE_TRY(parsed.units, parse_entries(policy, "units", "name", place));
  if (const json::Value* ssh_key = json::find(policy, {"sshkey"}); ssh_key != nullptr && !ssh_key->is_null()) {
    PolicyEntry entry;
    entry.origin = place == PolicyPlace::kSpec ? PolicyOrigin::kUser : PolicyOrigin::kDefault;
    STRAKE_TRY(entry.actions, parse_actions(*ssh_key, place, "sshkey.actions"));
    parsed.ssh_key = std::move(entry);
  }
  return parsed;
}

json::Value to_json(const DisruptionPolicy& policy) {
  json::Array files, units;
  for (const PolicyEntry& entry : policy.files) {
    files.push_back(json::Object{{"path", entry.target}, {"actions", actions_to_json(entry.actions)}});
  }
  for (const PolicyEntry& entry : policy.units) {
    units.push_back(json::Object{{"name", entry.target}, {"actions", actions_to_json(entry.actions)}});
  }
  json::Object object{{"files", std::move(files)}, {"units", std::move(units)}};
  if (policy.ssh_key) object["sshkey"] = json::Object{{"actions", actions_to_json(policy.ssh_key->actions)}};
  return object;
}

DisruptionPolicy merged_policy(DisruptionPolicy base, const DisruptionPolicy& user) {
  overlay(base.files, user.files);
  overlay(base.units, user.units);
  if (user.ssh_key) base.ssh_key = user.ssh_key;
  return base;
}

Result<DisruptionPolicy> effective_policy(const json::Value& machine_configuration) {
  const api::MachineConfigurationView view(machine_configuration);
  const auto generation = json::find_int(machine_configuration, {"metadata", "generation"});
  const json::Value* in_effect = view.effective_disruption_policy();
  if (in_effect != nullptr && generation && view.observed_generation() == *generation) {
    STRAKE_TRY_CONTEXT(DisruptionPolicy policy, parse_disruption_policy(*in_effect, PolicyPlace::kStatus),
                       "status.nodeDisruptionPolicyStatus.clusterPolicies");
    mark_origins(policy);
    return policy;
  }
  const json::Value* wished = view.wished_disruption_policy();
  if (wished == nullptr) return default_disruption_policy();
  STRAKE_TRY_CONTEXT(const DisruptionPolicy user, parse_disruption_policy(*wished, PolicyPlace::kSpec),
                     "spec.nodeDisruptionPolicy");
  return merged_policy(default_disruption_policy(), user);
}

const PolicyEntry* find_file_policy(const DisruptionPolicy& policy, std::string_view path) {
  const PolicyEntry* closest = nullptr;
  for (const PolicyEntry& entry : policy.files) {
    std::string folder = std::filesystem::path(entry.target).lexically_normal().string();
    // Normalising keeps one slash at the end of "/etc/a/". The root keeps it as well and gets a second one: so it is
    // above nothing, which is how the operator takes it.
    if (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    const bool covers = path == entry.target || path.starts_with(folder + "/");
    if (covers && (closest == nullptr || entry.target.size() > closest->target.size())) closest = &entry;
  }
  return closest;
}

const PolicyEntry* find_unit_policy(const DisruptionPolicy& policy, std::string_view name) {
  const auto found = std::ranges::find(policy.units, name, &PolicyEntry::target);
  return found == policy.units.end() ? nullptr : &*found;
}

}  // namespace strake::machineconfig
