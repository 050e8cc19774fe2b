// What changing a node from one rendered config to another calls for, and why: the rules of the Machine Config
// Operator's daemon, one by one: reconcilability, the actions its policies call for, the drain. What Strake makes of it
// is in consequence.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "machineconfig/diff/spec_changes.h"
#include "machineconfig/diff/subject.h"
#include "machineconfig/impact/disruption_policy.h"
#include "machineconfig/impact/reconcile.h"
#include "machineconfig/merge/comparable_spec.h"

namespace strake::machineconfig {

/// From cheap to dear.
enum class DisruptionClass {
  kNone,     ///< nobody notices
  kReload,   ///< services, or systemd itself, read their configuration anew
  kRestart,  ///< services stop and start
  kDrain,    ///< pods leave the node, which keeps running
  kReboot,
  kReinstall,  ///< a running node cannot follow at all
};
std::string_view to_string(DisruptionClass disruption);
Result<DisruptionClass> parse_disruption_class(std::string_view text);

/// What one changed subject calls for. A name left empty speaks for every subject of its kind.
struct Cause {
  Subject subject;
  std::vector<PolicyAction> actions;
  std::string why;  ///< a phrase: "no policy names it, so the node reboots"
};

struct DisruptionVerdict {
  SpecChanges changes;
  std::optional<Irreconcilable> irreconcilable;
  /// A single Reboot, a single None, or everything the changes call for in their order, repetitions kept. Empty when
  /// what differs names nothing (the order of files), and when the node cannot follow and so does nothing.
  std::vector<PolicyAction> actions;
  bool drain = false;
  DisruptionClass disruption = DisruptionClass::kNone;
  std::vector<Cause> causes;
};

struct DisruptionContext {
  DisruptionPolicy policy = default_disruption_policy();
  ReconcileOverrides overrides;
  FileComparison comparison = FileComparison::kAsWritten;
  LayeredImages images;
  bool force_file = false;      ///< /run/machine-config-daemon-force exists on the node
  bool single_replica = false;  ///< a cluster of one node: pods have nowhere to go, so it is never drained
};

/// An error: the new registries.conf cannot be read, so nobody can tell whether pods may stay.
Result<DisruptionVerdict> judge_disruption(const ComparableSpec& before, const ComparableSpec& after,
                                           const DisruptionContext& context = {});

}  // namespace strake::machineconfig
