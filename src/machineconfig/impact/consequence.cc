#include "machineconfig/impact/consequence.h"

#include <algorithm>
#include <optional>

#include "api/kinds.h"
#include "ignition/config.h"

namespace strake::machineconfig {

namespace {

/// Names in `after` missing from `before`, and the other way round, as reasons.
void add_list_reasons(const std::vector<std::string>& before, const std::vector<std::string>& after,
                      std::string_view noun, std::vector<std::string>& reasons) {
  const auto missing_from = [](const std::vector<std::string>& list, const std::string& item) {
    return std::find(list.begin(), list.end(), item) == list.end();
  };
  const std::size_t reasons_before = reasons.size();
  for (const std::string& item : after) {
    if (missing_from(before, item)) reasons.push_back(fmt::format("{} {} added", noun, item));
  }
  for (const std::string& item : before) {
    if (missing_from(after, item)) reasons.push_back(fmt::format("{} {} removed", noun, item));
  }
  if (reasons.size() == reasons_before && before != after) reasons.push_back(fmt::format("{}s in another order", noun));
}

std::vector<std::string> reasons_of(const ComparableSpec& before, const ComparableSpec& after,
                                    const DisruptionVerdict& verdict) {
  std::vector<std::string> reasons;
  const SpecChanges& changes = verdict.changes;
  if (changes.os_image) reasons.emplace_back("another OS image");
  if (changes.kernel_type) reasons.emplace_back("another kernel type");
  add_list_reasons(before.kernel_arguments, after.kernel_arguments, "kernel argument", reasons);
  add_list_reasons(before.extensions, after.extensions, "extension", reasons);
  for (const ChangedName& file : changes.changed_files) {
    reasons.push_back(fmt::format("file {} {}", file.name, to_string(file.kind)));
  }
  for (const ChangedName& unit : changes.changed_units) {
    reasons.push_back(fmt::format("unit {} {}", unit.name, to_string(unit.kind)));
  }
  if (changes.passwd) reasons.emplace_back("ssh keys or password of core changed");
  return reasons;
}

constexpr std::string_view kUnitsBelow = "/etc/systemd/system/";
constexpr std::string_view kSpecialService = "crio.service";

/// The actions of a verdict as they are carried out: the manager reads changed units before anybody is told to use
/// them.
std::vector<PolicyAction> service_actions(const DisruptionVerdict& verdict) {
  std::vector<PolicyAction> actions;
  const auto add = [&](PolicyAction action) {
    if (std::find(actions.begin(), actions.end(), action) == actions.end()) actions.push_back(std::move(action));
  };
  const auto is_unit_file = [](const ChangedName& file) { return file.name.starts_with(kUnitsBelow); };
  const bool units_changed =
      !verdict.changes.changed_units.empty() ||
      std::any_of(verdict.changes.changed_files.begin(), verdict.changes.changed_files.end(), is_unit_file) ||
      std::any_of(verdict.actions.begin(), verdict.actions.end(),
                  [](const PolicyAction& action) { return action.type == ActionType::kDaemonReload; });
  if (units_changed) add({ActionType::kDaemonReload, ""});
  for (const PolicyAction& action : verdict.actions) {
    switch (action.type) {
      case ActionType::kReload:
      case ActionType::kRestart: add(action); break;
      case ActionType::kSpecial: add({ActionType::kReload, std::string(kSpecialService)}); break;
      case ActionType::kDaemonReload:
      case ActionType::kNone:
      case ActionType::kDrain:
      case ActionType::kReboot: break;
    }
  }
  return actions;
}

/// Collects what an agent cannot apply, by name.
class BeyondAgent {
 public:
  BeyondAgent(const ComparableSpec& before, const ComparableSpec& after, const Capabilities& capabilities)
      : before_(before), after_(after), capabilities_(capabilities) {}

  std::vector<std::string> found() {
    if (!capabilities_.kernel_type && before_.kernel_type != after_.kernel_type) {
      names_.push_back(fmt::format("kernel type {}", after_.kernel_type));
    }
    if (!capabilities_.extensions) add_extensions();
    if (!capabilities_.directories) add_items("storage", "directories", "path", "directory");
    if (!capabilities_.links) add_items("storage", "links", "path", "link");
    if (!capabilities_.users_and_groups) add_items("passwd", "groups", "name", "group");
    add_users();
    add_units();
    add_section({"kernelArguments"}, "kernelArguments of the Ignition config (use spec.kernelArguments)");
    add_section({"ignition", "config"}, "ignition.config, configs that have to be fetched");
    return std::move(names_);
  }

  /// What only an installation brings about, wanted by a machine that was installed without.
  void add_first_installation(std::vector<std::string>& names) const {
    if (after_.fips) names.emplace_back("fips");
    for (const char* section : {"disks", "raid", "filesystems", "luks"}) {
      if (!items_at(after_.config, {"storage", section}).empty()) names.push_back(fmt::format("storage.{}", section));
    }
  }

 private:
  static std::string key_text(const json::Value& item, std::string_view key) {
    return json::find_string(item, {key}).value_or("");
  }

  static const json::Value* with_key(const json::Array& items, std::string_view key, const std::string& name) {
    const auto found =
        std::find_if(items.begin(), items.end(), [&](const json::Value& item) { return key_text(item, key) == name; });
    return found == items.end() ? nullptr : &*found;
  }

  void add_extensions() {
    const auto lacks = [](const std::vector<std::string>& list, const std::string& item) {
      return std::find(list.begin(), list.end(), item) == list.end();
    };
    for (const std::string& name : after_.extensions) {
      if (lacks(before_.extensions, name)) names_.push_back("extension " + name);
    }
    for (const std::string& name : before_.extensions) {
      if (lacks(after_.extensions, name)) names_.push_back("removal of extension " + name);
    }
  }

  void add_items(std::string_view section, std::string_view list, std::string_view key, std::string_view noun) {
    const json::Array& old_items = items_at(before_.config, {section, list});
    const json::Array& new_items = items_at(after_.config, {section, list});
    for (const json::Value& item : new_items) {
      const std::string name = key_text(item, key);
      const json::Value* known = with_key(old_items, key, name);
      if (known == nullptr || *known != item) names_.push_back(fmt::format("{} {}", noun, name));
    }
    for (const json::Value& item : old_items) {
      const std::string name = key_text(item, key);
      if (with_key(new_items, key, name) == nullptr) names_.push_back(fmt::format("removal of {} {}", noun, name));
    }
  }

  void add_section(std::initializer_list<std::string_view> path, std::string_view what) {
    if (json::find(after_.config, path) != nullptr && !same_member(before_, after_, path)) names_.emplace_back(what);
  }

  /// `systemctl enable` knows more than the two options by which managed_tree links a unit.
  static std::string foreign_install_option(std::string_view contents) {
    bool in_install = false;
    while (!contents.empty()) {
      const std::size_t end = contents.find('\n');
      const std::string_view line = contents.substr(0, end);
      contents.remove_prefix(end == std::string_view::npos ? contents.size() : end + 1);
      if (line.starts_with('[')) in_install = line.starts_with("[Install]");
      if (!in_install) continue;
      for (const std::string_view option : {"Alias=", "Also=", "DefaultInstance=", "UpheldBy="}) {
        if (line.starts_with(option)) return std::string(option);
      }
    }
    return "";
  }

  /// Units that are enabled or disabled in a way that is more than a file or a link the config itself has.
  void add_units() {
    const std::vector<ignition::UnitEntry> known = ignition::units_of(before_.config);
    for (const ignition::UnitEntry& unit : ignition::units_of(after_.config)) {
      if (!unit.enabled || unit.mask.value_or(false) || std::find(known.begin(), known.end(), unit) != known.end())
        continue;
      if (!unit.contents || unit.contents->empty()) {
        names_.push_back(
            fmt::format("{} of unit {}, which has no contents", *unit.enabled ? "enabling" : "disabling", unit.name));
      } else if (const std::string option = foreign_install_option(*unit.contents); *unit.enabled && !option.empty()) {
        names_.push_back(fmt::format("enabling of unit {}, whose [Install] section has {}", unit.name, option));
      }
    }
  }

  /// Keys and password apart from everything else about a user, because only those change on a running node.
  void add_users() {
    const json::Array& old_users = items_at(before_.config, {"passwd", "users"});
    const json::Array& new_users = items_at(after_.config, {"passwd", "users"});
    for (const json::Value& user : new_users) {
      const std::string name = key_text(user, "name");
      const json::Value* known = with_key(old_users, "name", name);
      add_user_changes(known == nullptr ? json::Value(json::Object{{"name", name}}) : *known, user, name);
    }
    for (const json::Value& user : old_users) {
      const std::string name = key_text(user, "name");
      if (with_key(new_users, "name", name) == nullptr) {
        add_user_changes(user, json::Value(json::Object{{"name", name}}), name);
      }
    }
  }

  void add_user_changes(const json::Value& old_user, const json::Value& new_user, const std::string& name) {
    const auto differs = [&](std::string_view member) {
      const json::Value* one = json::find(old_user, {member});
      const json::Value* other = json::find(new_user, {member});
      return one == nullptr || other == nullptr ? one != other : *one != *other;
    };
    if (!capabilities_.ssh_keys && differs("sshAuthorizedKeys")) names_.push_back("ssh keys of user " + name);
    if (!capabilities_.passwords && differs("passwordHash")) names_.push_back("password of user " + name);
    if (capabilities_.users_and_groups) return;
    const auto rest_of = [](const json::Value& user) {
      json::Value rest = user;
      for (const char* member : {"sshAuthorizedKeys", "passwordHash"}) rest.get_object().erase(member);
      return rest;
    };
    if (rest_of(old_user) != rest_of(new_user)) names_.push_back("user " + name);
  }

  const ComparableSpec& before_;
  const ComparableSpec& after_;
  const Capabilities& capabilities_;
  std::vector<std::string> names_;
};

}  // namespace

const Capabilities& agent_capabilities() {
  static const Capabilities kCapabilities{.reload_services = true, .restart_services = true};
  return kCapabilities;
}

DisruptionClass executable_class(DisruptionClass called_for, const Capabilities& capabilities) {
  switch (called_for) {
    case DisruptionClass::kNone: return DisruptionClass::kNone;
    case DisruptionClass::kReload: return capabilities.reload_services ? called_for : DisruptionClass::kReboot;
    case DisruptionClass::kRestart:
      return capabilities.reload_services && capabilities.restart_services ? called_for : DisruptionClass::kReboot;
    case DisruptionClass::kDrain: return capabilities.drain ? called_for : DisruptionClass::kReboot;
    case DisruptionClass::kReboot: return DisruptionClass::kReboot;
    case DisruptionClass::kReinstall: return DisruptionClass::kReinstall;
  }
  return DisruptionClass::kReboot;
}

Result<Consequence> consequence_of(const json::Value* from, const json::Value& to, const DisruptionPolicy& policy,
                                   const Capabilities& capabilities) {
  static const json::Value kNothing = json::Object{};
  STRAKE_TRY_CONTEXT(const ComparableSpec before, comparable_spec(from == nullptr ? kNothing : *from), "old config");
  STRAKE_TRY_CONTEXT(const ComparableSpec after, comparable_spec(to), "new config");
  if (from != nullptr) return consequence_of_change(before, after, policy, capabilities);
  Consequence consequence;
  BeyondAgent beyond(before, after, capabilities);
  consequence.beyond_agent = beyond.found();
  beyond.add_first_installation(consequence.beyond_agent);
  consequence.disruption = DisruptionClass::kReboot;
  consequence.reasons.emplace_back("first configuration of this node");
  return consequence;
}

Result<Consequence> consequence_of_change(const ComparableSpec& before, const ComparableSpec& after,
                                          const DisruptionPolicy& policy, const Capabilities& capabilities) {
  Consequence consequence;
  consequence.beyond_agent = BeyondAgent(before, after, capabilities).found();
  DisruptionContext context;
  context.policy = policy;
  context.comparison = FileComparison::kDecoded;
  context.overrides = {.disks = true, .file_systems = true, .raid = true};
  STRAKE_TRY(DisruptionVerdict verdict, judge_disruption(before, after, context));
  if (verdict.irreconcilable) {
    consequence.disruption = DisruptionClass::kReinstall;
    consequence.reasons.push_back(verdict.irreconcilable->reason);
    return consequence;
  }
  consequence.disruption = executable_class(verdict.disruption, capabilities);
  consequence.reasons = reasons_of(before, after, verdict);
  if (consequence.disruption != DisruptionClass::kReboot && capabilities.reload_services)
    consequence.actions = service_actions(verdict);
  if (consequence.disruption != verdict.disruption) {
    consequence.reasons.push_back(
        fmt::format("a {} would be enough, but the agent can only reboot for that", to_string(verdict.disruption)));
  }
  return consequence;
}

Result<DisruptionPolicy> disruption_policy_of(const kube::Object* machine_configuration) {
  if (machine_configuration == nullptr) return default_disruption_policy();
  return effective_policy(machine_configuration->json())
      .context("MachineConfiguration {}: its node disruption policy cannot be read", machine_configuration->name());
}

Result<DisruptionPolicy> read_disruption_policy(kube::KubeApi& api, const kube::Call& call) {
  const auto found = api.get(api::kMachineConfiguration, {"", std::string(api::kMachineConfigurationName)}, call);
  if (found.ok()) return disruption_policy_of(&*found);
  if (found.error().code() == Code::kNotFound) return disruption_policy_of(nullptr);
  return Error(found.error()).context("reading MachineConfiguration cluster, which holds the node disruption policy");
}

}  // namespace strake::machineconfig
