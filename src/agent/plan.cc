#include "agent/plan.h"

#include <algorithm>

#include "api/machine_config.h"
#include "machineconfig/agent_files.h"
#include "machineconfig/merge/managed_tree.h"
#include "machineconfig/render/rendered_name.h"

namespace strake::agent {

namespace {

using machineconfig::DisruptionClass;

FileState file_state(const machineconfig::ManagedEntry& entry) {
  const bool is_link = entry.kind == machineconfig::ManagedEntry::Kind::kLink;
  return {is_link ? FileState::Kind::kLink : FileState::Kind::kFile, entry.mode, entry.contents, entry.owner};
}

NextStep step_of_journal(const Observation& observed, int boots_for_config) {
  const Journal& journal = *observed.journal;
  const bool same_goal = observed.node.desired_config == journal.config.name();
  const bool has_goal = !observed.node.desired_config.empty();
  if (should_be_in_place(journal, observed.os)) {
    if (!observed.mismatch) return NextStep::kFinish;
    // Another goal heals whatever went wrong on the way to this one.
    if (!same_goal && has_goal) return NextStep::kUpdate;
    if (journal.phase == Phase::kBooting && journal.boots >= boots_for_config) return NextStep::kGiveUp;
    return has_goal ? NextStep::kRetry : NextStep::kGiveUp;
  }
  if (!has_goal) return NextStep::kNothing;
  return journal.phase == Phase::kBooting && same_goal ? NextStep::kReboot : NextStep::kUpdate;
}

/// Booting is the only way to run another deployment; what is staged for another config must not boot by accident.
std::optional<Step> staging_step(const osbackend::OsStatus& os, const osbackend::OsTarget& target) {
  const osbackend::Deployment& boots_next = os.staged ? *os.staged : os.booted;
  const bool booted_is_right = osbackend::differences(os.booted, target).empty();
  if (osbackend::differences(boots_next, target).empty() && !(booted_is_right && os.staged)) return std::nullopt;
  return StageOs{target};
}

void add_once(std::vector<TellService>& steps, TellService step) {
  if (std::find(steps.begin(), steps.end(), step) == steps.end()) steps.push_back(std::move(step));
}

std::vector<TellService> service_steps(const std::vector<machineconfig::PolicyAction>& actions) {
  using machineconfig::ActionType;
  std::vector<TellService> steps;
  for (const machineconfig::PolicyAction& action : actions) {
    switch (action.type) {
      case ActionType::kDaemonReload: add_once(steps, {TellService::What::kReadUnits}); break;
      case ActionType::kReload: add_once(steps, {TellService::What::kReload, action.service}); break;
      case ActionType::kRestart: add_once(steps, {TellService::What::kRestart, action.service}); break;
      case ActionType::kNone:
      case ActionType::kDrain:
      case ActionType::kReboot:
      case ActionType::kSpecial: break;  // not about a service, or resolved in the verdict
    }
  }
  return steps;
}

/// What services were told on the way to a config that is not the applied one: until a boot they run with it.
std::vector<TellService> told_before(const Observation& observed) {
  const bool counts = observed.journal && observed.journal->boot_id == observed.os.boot_id;
  return counts ? observed.journal->told : std::vector<TellService>();
}

Status check_genuine(const kube::Object& desired, const json::Value& spec) {
  STRAKE_TRY(const bool genuine, machineconfig::name_matches_spec(desired.name(), spec));
  if (genuine) return {};
  return error(
      Code::kCorrupt,
      "MachineConfig {} does not hold what its name promises: somebody edited it; delete it and it is rendered anew",
      desired.name());
}

/// Whoever rendered it should have refused it (machineconfig/agent_files.h); here it would be this program's end.
Status check_own_files(const kube::Object& desired, const json::Value& spec) {
  const json::Value* config = json::find(spec, {"config"});
  if (config == nullptr) return {};
  const auto mark = machineconfig::agent_unit_mark(*config);
  const bool is_installed_by_strake = mark && desired.annotation(machineconfig::kAgentUnitAnnotation) == mark;
  for (const machineconfig::AgentFileClaim& claim : machineconfig::agent_files_named(*config)) {
    if (claim.is_unit_itself && is_installed_by_strake) continue;
    return error(Code::kInvalidArgument, "MachineConfig {}: spec.config: {}", desired.name(), claim.to_string());
  }
  return {};
}

}  // namespace

bool should_be_in_place(const Journal& journal, const osbackend::OsStatus& os) {
  switch (journal.phase) {
    case Phase::kApplying: return false;
    case Phase::kBooting: return os.boot_id != journal.boot_id;
    case Phase::kReporting: return true;
  }
  return false;
}

NextStep next_step(const Observation& observed, int boots_for_config) {
  if (observed.journal) return step_of_journal(observed, boots_for_config);
  const std::string& desired = observed.node.desired_config;
  if (desired.empty()) return NextStep::kNothing;
  if (!observed.current || observed.current->name() != desired) return NextStep::kUpdate;
  return observed.node.done() ? NextStep::kNothing : NextStep::kReport;
}

Result<osbackend::OsTarget> os_target(const kube::Object& config, const osbackend::Deployment& booted) {
  const api::MachineConfigView view(config.json());
  osbackend::OsTarget target;
  target.image = booted.image;
  if (const std::string image = view.os_image_url(); !image.empty()) {
    STRAKE_TRY_CONTEXT(target.image, osbackend::ImageReference::parse(image), "spec.osImageURL");
  }
  target.kernel_arguments = osbackend::split_kernel_arguments(view.kernel_arguments());
  STRAKE_TRY_CONTEXT(target.kernel_type, osbackend::parse_kernel_type(view.kernel_type()), "spec.kernelType");
  target.extensions = view.extensions();
  return target;
}

Result<FileStates> files_of_spec(const json::Value& spec) {
  STRAKE_TRY(const auto entries, machineconfig::managed_tree(spec));
  FileStates files;
  for (const auto& [path, entry] : entries) files.emplace(path, file_state(entry));
  return files;
}

Result<FileStates> wanted_files(const Observation& observed, const kube::Object& desired) {
  const json::Value* spec = api::spec_of(desired);
  if (spec == nullptr) return error(Code::kInvalidArgument, "MachineConfig {} has no spec", desired.name());
  STRAKE_CHECK_OK(check_own_files(desired, *spec));
  STRAKE_TRY_CONTEXT(FileStates want, files_of_spec(*spec), "MachineConfig {}", desired.name());
  const json::Value* old_spec = observed.current ? api::spec_of(*observed.current) : nullptr;
  if (old_spec != nullptr) {
    STRAKE_TRY_CONTEXT(const auto old_entries, machineconfig::managed_tree(*old_spec), "the applied config {}",
                       observed.current->name());
    for (const auto& [path, entry] : old_entries) {
      if (!machineconfig::is_agent_path(path)) want.emplace(path, std::nullopt);
    }
  }
  if (observed.journal) want.insert(observed.journal->before.begin(), observed.journal->before.end());
  return want;
}

Result<UpdatePlan> plan_update(const Observation& observed, const kube::Object& desired, const FileStates& want,
                               const FileStates& have) {
  const json::Value* spec = api::spec_of(desired);
  if (spec == nullptr) return error(Code::kInvalidArgument, "MachineConfig {} has no spec", desired.name());
  STRAKE_CHECK_OK(check_genuine(desired, *spec));
  UpdatePlan plan;
  plan.config = desired;
  const json::Value* old_spec = observed.current ? api::spec_of(*observed.current) : nullptr;
  STRAKE_TRY(plan.consequence, machineconfig::consequence_of(old_spec, *spec, observed.policy));
  if (plan.consequence.disruption == DisruptionClass::kReinstall) {
    return error(Code::kUnsupported, "a running machine cannot follow: {}; install it anew or undo the change",
                 fmt::join(plan.consequence.reasons, "; "))
        .with_reason(std::string(kUnreconcilableReason));
  }
  STRAKE_TRY(const osbackend::OsTarget target, os_target(desired, observed.os.booted));
  std::vector<std::string> refused = plan.consequence.beyond_agent;
  for (std::string& part : osbackend::beyond_backend(observed.os, target)) refused.push_back(std::move(part));
  if (!refused.empty()) {
    return error(
               Code::kUnsupported,
               "this agent cannot apply {}; take it out of the pool's MachineConfigs ('strake explain' shows which one "
               "brings it)",
               fmt::join(refused, ", "))
        .with_reason(std::string(kUnreconcilableReason));
  }
  STRAKE_TRY(plan.steps, file_steps(have, want));
  if (auto staging = staging_step(observed.os, target)) plan.steps.push_back(*std::move(staging));
  const std::vector<std::string> os_differences = osbackend::differences(observed.os.booted, target);
  if (!os_differences.empty() && plan.consequence.disruption != DisruptionClass::kReboot) {
    plan.consequence.disruption = DisruptionClass::kReboot;
    plan.consequence.reasons.push_back(fmt::format("the machine runs {}", fmt::join(os_differences, ", ")));
  }
  plan.told = told_before(observed);
  if (plan.consequence.disruption == DisruptionClass::kReboot) {
    plan.steps.emplace_back(Reboot{fmt::format("update to {}", desired.name())});
  } else {
    std::vector<TellService> to_tell = service_steps(plan.consequence.actions);
    for (const TellService& step : plan.told) add_once(to_tell, step);
    plan.steps.insert(plan.steps.end(), to_tell.begin(), to_tell.end());
  }
  // What is kept already is older, so it is what the node is put back to.
  if (observed.journal) plan.before = observed.journal->before;
  for (const std::string& path : changed_paths(plan.steps)) {
    const auto there = have.find(path);
    plan.before.emplace(path, there == have.end() ? std::nullopt : there->second);
  }
  return plan;
}

Result<std::vector<Step>> plan_undo(const FileStates& before, const std::vector<TellService>& told,
                                    const FileStates& have) {
  STRAKE_TRY(std::vector<Step> steps, file_steps(have, before));
  steps.insert(steps.end(), told.begin(), told.end());
  return steps;
}

}  // namespace strake::agent
