#include "machineconfig/impact/disruption.h"

#include <algorithm>

#include "machineconfig/impact/registries_change.h"

namespace strake::machineconfig {

namespace {

constexpr DisruptionClass kDisruptionClasses[] = {DisruptionClass::kNone,    DisruptionClass::kReload,
                                                  DisruptionClass::kRestart, DisruptionClass::kDrain,
                                                  DisruptionClass::kReboot,  DisruptionClass::kReinstall};

const PolicyAction kRebootAction{ActionType::kReboot, {}};
const PolicyAction kNoneAction{ActionType::kNone, {}};

bool has_action(const std::vector<PolicyAction>& actions, ActionType type) {
  return std::any_of(actions.begin(), actions.end(),
                     [type](const PolicyAction& action) { return action.type == type; });
}

/// The contents of registries.conf; empty when the config has none.
Result<std::string> registries_conf(const ComparableSpec& spec) {
  for (const json::Value& file : items_at(spec.config, {"storage", "files"})) {
    if (json::find_string(file, {"path"}) != kRegistriesConfPath) continue;
    STRAKE_TRY(ignition::FileEntry entry, decode_file(file));
    return std::move(entry.contents);
  }
  return std::string();
}

std::string action_names(const std::vector<PolicyAction>& actions) {
  std::vector<std::string> names;
  for (const PolicyAction& action : actions) {
    const bool is_special = action.type == ActionType::kSpecial;
    names.push_back(is_special ? "reload crio.service, after a drain if its contents call for one"
                               : action.to_string());
  }
  return names.empty() ? "no action" : fmt::format("{}", fmt::join(names, ", "));
}

Cause cause_from_policy(Subject subject, const PolicyEntry* entry) {
  if (entry == nullptr) {
    return {std::move(subject), {kRebootAction}, "no policy names it, so the node reboots"};
  }
  const std::string_view whose = entry->origin == PolicyOrigin::kUser ? "the user's" : "the default";
  const std::string target = entry->target.empty() || entry->target == subject.name ? "" : " for " + entry->target;
  return {std::move(subject), entry->actions,
          fmt::format("{} policy{} says {}", whose, target, action_names(entry->actions))};
}

/// What cannot change without a reboot, whatever the policies say.
void add_reboot_causes(const SpecChanges& changes, const DisruptionContext& context, std::vector<Cause>& causes) {
  const auto add = [&](bool changed, SubjectKind kind, std::string_view why) {
    if (changed) causes.push_back({{kind, ""}, {kRebootAction}, std::string(why)});
  };
  add(changes.os_image, SubjectKind::kOsImage,
      changes.left_layering ? "the node leaves the image built for its pool, which takes a reboot"
                            : "another OS image runs only after a reboot");
  add(changes.kernel_arguments, SubjectKind::kKernelArgument, "the kernel reads its arguments when it boots");
  add(changes.fips, SubjectKind::kFips, "FIPS mode is chosen when the kernel boots");
  add(changes.kernel_type, SubjectKind::kKernelType, "another kernel runs only after a reboot");
  add(changes.extensions, SubjectKind::kExtension, "extensions become part of the OS image that boots next");
  if (context.force_file) {
    causes.push_back({{SubjectKind::kFile, "/run/machine-config-daemon-force"},
                      {kRebootAction},
                      "the force file on the node asks for a reboot"});
  }
}

/// Any Reboot alone; None only alone; otherwise everything. The operator repeats an action as often as it is called
/// for, and so does the prediction of it.
std::vector<PolicyAction> combined_actions(const std::vector<Cause>& causes, const SpecChanges& changes) {
  std::vector<PolicyAction> actions;
  for (const Cause& cause : causes) actions.insert(actions.end(), cause.actions.begin(), cause.actions.end());
  if (has_action(actions, ActionType::kReboot)) return {kRebootAction};
  if (!changes.files && !changes.units && !changes.passwd) return {kNoneAction};
  const bool only_none =
      !actions.empty() && std::all_of(actions.begin(), actions.end(),
                                      [](const PolicyAction& action) { return action.type == ActionType::kNone; });
  if (only_none) return {kNoneAction};
  std::erase(actions, kNoneAction);
  return actions;
}

/// Notes at the cause what the contents of registries.conf mean for the pods.
Result<bool> special_needs_drain(const ComparableSpec& before, const ComparableSpec& after, Cause& cause) {
  STRAKE_TRY_CONTEXT(const std::string old_text, registries_conf(before), "old config");
  STRAKE_TRY_CONTEXT(const std::string new_text, registries_conf(after), "new config");
  STRAKE_TRY(const RegistriesChange change, judge_registries_change(old_text, new_text));
  cause.why =
      fmt::format("crio.service is reloaded and pods {}: {}", change.safe ? "stay" : "must leave first", change.why);
  return !change.safe;
}

Result<bool> drain_needed(const ComparableSpec& before, const ComparableSpec& after, DisruptionVerdict& verdict) {
  bool drain = has_action(verdict.actions, ActionType::kReboot) || has_action(verdict.actions, ActionType::kDrain);
  if (!has_action(verdict.actions, ActionType::kSpecial)) return drain;
  for (Cause& cause : verdict.causes) {
    if (!has_action(cause.actions, ActionType::kSpecial)) continue;
    STRAKE_TRY(const bool special_drain, special_needs_drain(before, after, cause));
    drain = drain || special_drain;
  }
  return drain;
}

DisruptionClass class_of(const std::vector<PolicyAction>& actions, bool drain) {
  if (has_action(actions, ActionType::kReboot)) return DisruptionClass::kReboot;
  if (drain) return DisruptionClass::kDrain;
  DisruptionClass dearest = DisruptionClass::kNone;
  for (const PolicyAction& action : actions) {
    switch (action.type) {
      case ActionType::kReload:
      case ActionType::kDaemonReload:
      case ActionType::kSpecial: dearest = std::max(dearest, DisruptionClass::kReload); break;
      case ActionType::kRestart: dearest = std::max(dearest, DisruptionClass::kRestart); break;
      case ActionType::kNone:
      case ActionType::kDrain:
      case ActionType::kReboot: break;
    }
  }
  return dearest;
}

}  // namespace

std::string_view to_string(DisruptionClass disruption) {
  switch (disruption) {
    case DisruptionClass::kNone: return "none";
    case DisruptionClass::kReload: return "reload";
    case DisruptionClass::kRestart: return "restart";
    case DisruptionClass::kDrain: return "drain";
    case DisruptionClass::kReboot: return "reboot";
    case DisruptionClass::kReinstall: return "reinstall";
  }
  return "unknown";
}

Result<DisruptionClass> parse_disruption_class(std::string_view text) {
  for (const DisruptionClass disruption : kDisruptionClasses) {
    if (text == to_string(disruption)) return disruption;
  }
  return error(Code::kInvalidArgument,
               "'{}' is not a disruption class; known are none, reload, restart, drain, reboot and reinstall", text);
}

Result<DisruptionVerdict> judge_disruption(const ComparableSpec& before, const ComparableSpec& after,
                                           const DisruptionContext& context) {
  DisruptionVerdict verdict;
  verdict.changes = find_spec_changes(before, after, context.comparison, context.images);
  verdict.irreconcilable = check_reconcilable(before, after, context.overrides);
  const SpecChanges& changes = verdict.changes;
  add_reboot_causes(changes, context, verdict.causes);
  for (const ChangedName& file : changes.changed_files) {
    verdict.causes.push_back(
        cause_from_policy({SubjectKind::kFile, file.name}, find_file_policy(context.policy, file.name)));
  }
  for (const ChangedName& unit : changes.changed_units) {
    verdict.causes.push_back(
        cause_from_policy({SubjectKind::kUnit, unit.name}, find_unit_policy(context.policy, unit.name)));
  }
  if (changes.passwd) {
    // Without a policy for keys nothing is called for: the operator's table always has one.
    static const PolicyEntry kNoKeyPolicy;
    verdict.causes.push_back(cause_from_policy({SubjectKind::kSshKey, ""},
                                               context.policy.ssh_key ? &*context.policy.ssh_key : &kNoKeyPolicy));
  }
  if (verdict.irreconcilable) {
    verdict.disruption = DisruptionClass::kReinstall;
    return verdict;
  }
  verdict.actions = combined_actions(verdict.causes, changes);
  STRAKE_TRY(const bool drain, drain_needed(before, after, verdict));
  verdict.drain = drain && !context.single_replica;
  verdict.disruption = class_of(verdict.actions, verdict.drain);
  return verdict;
}

}  // namespace strake::machineconfig
