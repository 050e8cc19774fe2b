// Node disruption policies: what a changed file, unit or ssh key calls for instead of a reboot.
//
// The user's policies (MachineConfiguration, spec.nodeDisruptionPolicy) are laid over a default table; the merged table
// stands in status.nodeDisruptionPolicyStatus.clusterPolicies.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

namespace strake::machineconfig {

enum class ActionType {
  kNone,
  kDaemonReload,
  kReload,
  kRestart,
  kDrain,
  kReboot,
  kSpecial,  ///< internal: the contents of registries.conf decide about a drain, then crio.service is reloaded
};
std::string_view to_string(ActionType type);

struct PolicyAction {
  ActionType type = ActionType::kNone;
  std::string service;  ///< of kReload and kRestart

  /// "Reload crio.service", "Reboot"
  std::string to_string() const;
  bool operator==(const PolicyAction&) const = default;
};

enum class PolicyOrigin { kDefault, kUser };

struct PolicyEntry {
  std::string target;  ///< a path, of a file or of everything below a folder; or the name of a unit
  std::vector<PolicyAction> actions;
  PolicyOrigin origin = PolicyOrigin::kDefault;

  bool operator==(const PolicyEntry&) const = default;
};

struct DisruptionPolicy {
  std::vector<PolicyEntry> files;
  std::vector<PolicyEntry> units;
  std::optional<PolicyEntry> ssh_key;  ///< its target is empty

  bool operator==(const DisruptionPolicy&) const = default;
};

const DisruptionPolicy& default_disruption_policy();

enum class PolicyPlace {
  kSpec,    ///< written by a user: no Special, at most 50 files and 50 units
  kStatus,  ///< the merged table
};

/// {files, units, sshkey}; errors name the member: "files[2].actions[0].reload.serviceName".
Result<DisruptionPolicy> parse_disruption_policy(const json::Value& policy, PolicyPlace place);

/// {files, units, sshkey} as a MachineConfiguration's status holds it.
json::Value to_json(const DisruptionPolicy& policy);

/// A user's entry replaces the default with the same target; others are added.
DisruptionPolicy merged_policy(DisruptionPolicy base, const DisruptionPolicy& user);

/// What is in effect under a MachineConfiguration: its status when that has caught up with its spec, since that is what
/// nodes follow; else the defaults under the spec, which is what the status will say.
Result<DisruptionPolicy> effective_policy(const json::Value& machine_configuration);

/// The entry with the longest path that is the file or a folder above it. A policy on "/" covers nothing.
const PolicyEntry* find_file_policy(const DisruptionPolicy& policy, std::string_view path);
const PolicyEntry* find_unit_policy(const DisruptionPolicy& policy, std::string_view name);

}  // namespace strake::machineconfig
