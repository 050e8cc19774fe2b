// Why a pool is not where its owner wants it, or will not get there by itself: one list of cases, each with its word
// for conditions, events and metrics, and with what follows from it.
#pragma once

#include <string>
#include <string_view>

namespace strake::rollout {

enum class TroubleKind {
  kPaused,                 ///< spec.paused, or the pool is being deleted
  kNotRendered,            ///< no config was rendered for it yet
  kRenderWaits,            ///< what a render reads is still being written
  kRenderFailed,           ///< the pool's MachineConfigs cannot be rendered; the old config stays in force
  kConfigsIgnored,         ///< a KubeletConfig or the like which nothing turns into a MachineConfig
  kInvalidMaxUnavailable,  ///< no number of nodes
  kInvalidNodeSelector,    ///< cannot be evaluated, or would take every node
  kContestedNodes,         ///< nodes that another custom pool claims too
  kTargetMissing,          ///< the rendered config the pool names does not exist
  kTargetEdited,           ///< it does not hold what its name promises
  kPolicyUnreadable,       ///< the cluster's node disruption policy
  kNodesCannotFollow,      ///< nodes the target cannot be given to, or only by installing them anew
  kCannotWrite,            ///< the API refuses what the rollout writes
};
inline constexpr TroubleKind kTroubleKinds[] = {TroubleKind::kPaused,
                                                TroubleKind::kNotRendered,
                                                TroubleKind::kRenderWaits,
                                                TroubleKind::kRenderFailed,
                                                TroubleKind::kConfigsIgnored,
                                                TroubleKind::kInvalidMaxUnavailable,
                                                TroubleKind::kInvalidNodeSelector,
                                                TroubleKind::kContestedNodes,
                                                TroubleKind::kTargetMissing,
                                                TroubleKind::kTargetEdited,
                                                TroubleKind::kPolicyUnreadable,
                                                TroubleKind::kNodesCannotFollow,
                                                TroubleKind::kCannotWrite};
/// "InvalidMaxUnavailable": the reason of conditions and events.
std::string_view to_string(TroubleKind kind);

/// No node that runs workloads is given a new target.
bool stops_rollout(TroubleKind kind);
/// Somebody must do something: the pool's Degraded condition is True.
bool degrades_pool(TroubleKind kind);
/// The nodes at hand are not all there is to the pool, so it is not Updated even if all of them run its target.
bool denies_updated(TroubleKind kind);

struct Trouble {
  TroubleKind kind;
  std::string message;  ///< what is wrong and what to do, without a final period

  bool operator==(const Trouble&) const = default;
};

}  // namespace strake::rollout
