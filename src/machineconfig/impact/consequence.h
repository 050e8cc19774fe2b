// What Strake does to a node that goes from one rendered config to another: the one verdict that `strake diff`, the
// rollout's plan and the agent share, so that what is said is what is planned, and what is planned is what is done.
//
// It is judge_disruption under the cluster's policy, cut down to what an agent can carry out (Capabilities).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "kube/kube_api.h"
#include "machineconfig/impact/disruption.h"

namespace strake::machineconfig {

/// What an agent can carry out. Whatever is false here is refused by name, or replaced by the next dearer thing, and
/// never passed over in silence.
struct Capabilities {
  bool reload_services = false;  ///< and have systemd read its units anew
  bool restart_services = false;
  bool drain = false;  ///< move pods away from a node that keeps running
  bool ssh_keys = false;
  bool passwords = false;
  bool users_and_groups = false;  ///< make and remove them
  bool directories = false;
  bool links = false;
  bool kernel_type = false;
  bool extensions = false;

  bool operator==(const Capabilities&) const = default;
};

/// Of this version's agent: what plans assume, and what the agent starts from.
const Capabilities& agent_capabilities();

/// What is done for a change of this class: the cheapest thing an agent can do that is not less.
DisruptionClass executable_class(DisruptionClass called_for, const Capabilities& capabilities = agent_capabilities());

struct Consequence {
  DisruptionClass disruption = DisruptionClass::kNone;  ///< an executable one
  std::vector<std::string> reasons{};                   ///< each a short phrase: "kernel argument nosmt added"
  /// What the agent tells services once the files are written, in this order, each once: DaemonReload, Reload and
  /// Restart. Empty when it reboots, which covers all of it.
  std::vector<PolicyAction> actions{};
  /// What the change needs and no agent with these capabilities can apply, by name: "kernel type realtime". The agent
  /// refuses the whole config then, and the rollout does not send a node there.
  std::vector<std::string> beyond_agent{};

  bool can_follow() const { return disruption != DisruptionClass::kReinstall && beyond_agent.empty(); }
};

/// Compares two rendered specs on their decoded contents. `from` is null for a node that has never been configured.
/// Disks, filesystems and RAID are not looked at: whether they may change is decided when a config is rendered, and the
/// agent never touches them.
Result<Consequence> consequence_of(const json::Value* from, const json::Value& to, const DisruptionPolicy& policy,
                                   const Capabilities& capabilities = agent_capabilities());

/// The same for specs that were read for a comparison already.
Result<Consequence> consequence_of_change(const ComparableSpec& before, const ComparableSpec& after,
                                          const DisruptionPolicy& policy,
                                          const Capabilities& capabilities = agent_capabilities());

/// The policy of a cluster: its MachineConfiguration/cluster over the defaults, or the defaults alone when there is
/// none. A policy that cannot be read is an error: the defaults in its place would be a guess about reboots.
Result<DisruptionPolicy> read_disruption_policy(kube::KubeApi& api, const kube::Call& call);
/// The same for an object that is at hand, or nullptr.
Result<DisruptionPolicy> disruption_policy_of(const kube::Object* machine_configuration);

}  // namespace strake::machineconfig
