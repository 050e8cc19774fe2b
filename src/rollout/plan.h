// The rollout of one pool as a pure function: which nodes to target now, which wait and for what, what each change will
// cost. `strake plan` prints it; the controller executes exactly it.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/machine_config_pool.h"
#include "base/result.h"
#include "kube/object.h"
#include "machineconfig/consequence.h"
#include "rollout/node_view.h"

namespace strake::rollout {

enum class NodeAction {
  kCurrent,   ///< runs the target
  kUpdating,  ///< was targeted, its agent is at work
  kFailing,   ///< was targeted, its agent reports a failure
  kTarget,    ///< set desiredConfig now
  kWait,      ///< needs the change, but not now; `waits_for` says why
};
inline constexpr NodeAction kNodeActions[] = {NodeAction::kCurrent, NodeAction::kUpdating, NodeAction::kFailing,
                                              NodeAction::kTarget, NodeAction::kWait};
std::string_view to_string(NodeAction action);

struct NodePlan {
  NodeView node;
  NodeAction action = NodeAction::kCurrent;
  machineconfig::Consequence consequence;  ///< of going from where it is to the pool's target
  std::string waits_for;
};

struct PoolPlan {
  std::string pool;
  std::string target;  ///< rendered config; empty when none was rendered yet
  bool paused = false;
  int max_unavailable = 1;
  int unavailable = 0;
  std::vector<NodePlan> nodes;  ///< by name
};

struct PoolInput {
  kube::Object pool;
  std::vector<kube::Object> nodes;  ///< those whose primary pool this is
  /// The spec of a rendered config by name; nullptr when it does not exist (any more).
  std::function<const json::Value*(const std::string& name)> spec_of;
  machineconfig::DisruptionPolicy policy = machineconfig::default_disruption_policy();
};

Result<PoolPlan> plan_pool(const PoolInput& input);

api::PoolCounts count_nodes(const PoolPlan& plan);

/// The pool's status with counts and conditions brought up to date; other members as they were.
json::Value updated_status(const kube::Object& pool, const PoolPlan& plan, std::chrono::system_clock::time_point now);

/// Merge patch that targets a node: only our own annotations.
json::Value target_patch(const kube::Object& node, const std::string& config, machineconfig::DisruptionClass planned);

}  // namespace strake::rollout
