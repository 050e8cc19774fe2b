// What the agent does next, as pure functions of what it sees. The executor (agent.cc) runs exactly this.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/journal.h"
#include "api/node.h"
#include "machineconfig/consequence.h"
#include "machineconfig/managed_tree.h"
#include "osbackend/os_backend.h"

namespace strake::agent {

struct Observation {
  std::optional<kube::Object> current;  ///< the applied config, from disk
  std::optional<Journal> journal;
  osbackend::OsStatus os;
  api::NodeView node;                                                                   ///< as the API shows it
  machineconfig::DisruptionPolicy policy = machineconfig::default_disruption_policy();  ///< of the cluster
};

enum class NextStep {
  kNothing,  ///< the node is where it should be
  kUpdate,   ///< apply the node's desired config
  kReboot,   ///< everything is staged, the machine has not booted yet
  kFinish,   ///< the journal's config is in place: check, commit, report
  kReport,   ///< the API shows something older than the disk
};

NextStep next_step(const Observation& observed);

struct UpdatePlan {
  kube::Object config;
  machineconfig::Consequence consequence;
  machineconfig::ManagedTree entries;  ///< what must be on disk afterwards
  std::set<std::string> removals;      ///< paths of the old or of an abandoned config that the new one does not have
  std::set<std::string> touched;       ///< for the journal
  osbackend::Deployment deployment;
  bool reboot = false;
};

/// The reason of the error when a running machine cannot follow to the desired config at all.
inline constexpr std::string_view kUnreconcilableReason = "Unreconcilable";

/// Refuses a config whose content is not what its name promises, one the machine cannot follow to, and one with
/// something this agent cannot apply.
Result<UpdatePlan> plan_update(const Observation& observed, const kube::Object& desired);

/// The journal entry that must be on disk before a reboot is asked for: without it the machine would not know after the
/// boot that the work is done.
std::optional<Journal> journal_before_reboot(const UpdatePlan& plan, const std::string& boot_id);

osbackend::Deployment deployment_of(const kube::Object& config);

}  // namespace strake::agent
