// What the agent does next, as pure functions of what it sees. The executor (agent.cc) runs exactly this.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/journal.h"
#include "agent/steps.h"
#include "api/node.h"
#include "machineconfig/impact/consequence.h"
#include "osbackend/os_backend.h"

namespace strake::agent {

struct Observation {
  std::optional<kube::Object> current;  ///< the applied config, from disk
  std::optional<Journal> journal;
  osbackend::OsStatus os;
  api::NodeView node;                                                                   ///< as the API shows it
  machineconfig::DisruptionPolicy policy = machineconfig::default_disruption_policy();  ///< of the cluster
  /// Why the journal's config is not in place, although it should be by now.
  std::optional<Error> mismatch;
};

enum class NextStep {
  kNothing,  ///< the node is where it should be
  kUpdate,   ///< apply the node's desired config
  kReboot,   ///< everything is staged, the machine has not booted yet
  kFinish,   ///< the journal's config is in place: commit, report
  kRetry,    ///< it is not in place after a boot or an apply: say so, then apply it again
  kGiveUp,   ///< it is still not in place after as many boots as were allowed: until somebody acts
  kReport,   ///< the API shows something older than the disk
};

/// `boots_for_config`: how often a machine may boot to reach one config.
NextStep next_step(const Observation& observed, int boots_for_config);

/// The journal's config should be in place: it was applied without a boot, or the machine has booted since.
bool should_be_in_place(const Journal& journal, const osbackend::OsStatus& os);

/// What a config asks of the OS of this machine; where it says nothing about the image, that is what runs.
/// kInvalidArgument names the field.
Result<osbackend::OsTarget> os_target(const kube::Object& config, const osbackend::Deployment& booted);

/// The files, links and units of a MachineConfig's spec, as they have to be on disk.
Result<FileStates> files_of_spec(const json::Value& spec);

/// What must be where after going from what is applied to `desired`: its own entries, nothing where only the old config
/// had something, and what was there before where only an abandoned config had.
Result<FileStates> wanted_files(const Observation& observed, const kube::Object& desired);

struct UpdatePlan {
  kube::Object config;
  machineconfig::Consequence consequence;
  std::vector<Step> steps;
  FileStates before;              ///< for the journal: how to put back what the steps change
  std::vector<TellService> told;  ///< for the journal: what services were told on the way to an abandoned config
};

/// The reason of the error when a running machine cannot follow to the desired config at all.
inline constexpr std::string_view kUnreconcilableReason = "Unreconcilable";

/// Refuses a config whose content is not what its name promises, one the machine cannot follow to, and one with a part
/// that nobody here can apply. `have` holds the paths of `want` and the folders above them.
Result<UpdatePlan> plan_update(const Observation& observed, const kube::Object& desired, const FileStates& want,
                               const FileStates& have);

/// The steps back to the state before an update: files first, then whoever was told of the new ones is told again.
Result<std::vector<Step>> plan_undo(const FileStates& before, const std::vector<TellService>& told,
                                    const FileStates& have);

}  // namespace strake::agent
