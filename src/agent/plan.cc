#include "agent/plan.h"

#include "api/machine_config.h"
#include "machineconfig/rendered_name.h"

namespace strake::agent {

NextStep next_step(const Observation& observed) {
  const std::string& desired = observed.node.desired_config;
  if (observed.journal) {
    switch (observed.journal->phase) {
      case Phase::kReporting: return NextStep::kFinish;
      case Phase::kBooting:
        if (observed.os.boot_id != observed.journal->boot_id) return NextStep::kFinish;
        return desired == observed.journal->config.name() ? NextStep::kReboot : NextStep::kUpdate;
      case Phase::kApplying: return desired.empty() ? NextStep::kNothing : NextStep::kUpdate;
    }
  }
  if (desired.empty()) return NextStep::kNothing;
  if (!observed.current || observed.current->name() != desired) return NextStep::kUpdate;
  return observed.node.done() ? NextStep::kNothing : NextStep::kReport;
}

osbackend::Deployment deployment_of(const kube::Object& config) {
  const api::MachineConfigView view(config.json());
  return {view.os_image_url(), osbackend::split_kernel_arguments(view.kernel_arguments())};
}

Result<UpdatePlan> plan_update(const Observation& observed, const kube::Object& desired) {
  const json::Value* spec = json::find(desired.json(), {"spec"});
  if (spec == nullptr) return error(Code::kInvalidArgument, "MachineConfig {} has no spec", desired.name());
  STRAKE_TRY(const bool genuine, machineconfig::name_matches_spec(desired.name(), *spec));
  if (!genuine) {
    return error(
        Code::kCorrupt,
        "MachineConfig {} does not hold what its name promises: somebody edited it; delete it and it is rendered anew",
        desired.name());
  }
  UpdatePlan plan;
  plan.config = desired;
  const json::Value* old_spec = observed.current ? json::find(observed.current->json(), {"spec"}) : nullptr;
  STRAKE_TRY(plan.consequence, machineconfig::consequence_of(old_spec, *spec, observed.policy));
  if (plan.consequence.disruption == machineconfig::DisruptionClass::kReinstall) {
    return error(Code::kUnsupported, "a running machine cannot follow: {}; install it anew or undo the change",
                 fmt::join(plan.consequence.reasons, "; "))
        .with_reason(std::string(kUnreconcilableReason));
  }
  if (!plan.consequence.beyond_agent.empty()) {
    return error(Code::kUnsupported, "this agent cannot apply {}; take it out of the pool's MachineConfigs",
                 fmt::join(plan.consequence.beyond_agent, ", "));
  }
  STRAKE_TRY_CONTEXT(plan.entries, machineconfig::managed_tree(*spec), "MachineConfig {}", desired.name());
  plan.deployment = deployment_of(desired);
  // Booting another deployment is the only way to run it, whatever the comparison of the configs says.
  plan.reboot = plan.consequence.disruption == machineconfig::DisruptionClass::kReboot ||
                !(plan.deployment == observed.os.booted);
  if (plan.reboot && plan.consequence.disruption != machineconfig::DisruptionClass::kReboot) {
    plan.consequence.disruption = machineconfig::DisruptionClass::kReboot;
    plan.consequence.reasons.emplace_back("the machine runs another OS image or kernel arguments than its config says");
  }
  for (const auto& [path, entry] : plan.entries) plan.touched.insert(path);
  std::set<std::string> maybe_there;
  if (old_spec != nullptr) {
    STRAKE_TRY(const auto old_entries, machineconfig::managed_tree(*old_spec));
    for (const auto& [path, entry] : old_entries) maybe_there.insert(path);
  }
  if (observed.journal) {
    maybe_there.insert(observed.journal->touched.begin(), observed.journal->touched.end());
    plan.touched.insert(observed.journal->touched.begin(), observed.journal->touched.end());
  }
  for (const std::string& path : maybe_there) {
    if (!plan.entries.contains(path)) plan.removals.insert(path);
  }
  return plan;
}

}  // namespace strake::agent
