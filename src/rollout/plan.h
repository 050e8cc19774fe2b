// The rollout of one pool as a pure function: which nodes to target now, which wait and for what, what each change will
// cost, and what keeps the pool from getting on. `strake plan` prints it; the controller executes exactly it.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "api/machine_config_pool.h"
#include "api/node.h"
#include "kube/object.h"
#include "machineconfig/impact/consequence.h"
#include "rollout/config_book.h"
#include "rollout/pool_members.h"
#include "rollout/rollout_policy.h"
#include "rollout/trouble.h"

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
  api::NodePtr node;
  NodeAction action = NodeAction::kCurrent;
  /// Of going from where it is to the pool's target; never nullptr.
  ConsequencePtr consequence = no_consequence();
  std::string waits_for;
  bool away = false;           ///< uses up one unit of maxUnavailable
  bool cannot_follow = false;  ///< no time will help: another config, or another installation
};

struct PoolPlan {
  std::string pool;
  std::string target;  ///< rendered config; empty when none was rendered yet
  bool paused = false;
  int max_unavailable = 1;  ///< 0 when nobody can tell
  int unavailable = 0;
  std::vector<NodePlan> nodes;  ///< by name
  std::vector<Trouble> troubles;

  const Trouble* find(TroubleKind kind) const;
  /// The first trouble that keeps nodes from being targeted.
  const Trouble* stopped_by() const;
};

struct PoolInput {
  const kube::Object& pool;
  std::vector<api::NodePtr> nodes;     ///< those whose pool this is
  std::string selector_trouble{};      ///< why the pool's nodeSelector cannot be evaluated
  std::vector<StrayNode> contested{};  ///< nodes that this pool and another one claim
  const ConfigBook& configs;           ///< holds the target and what the nodes run, as far as they exist
  std::string policy_trouble{};        ///< why the cluster's disruption policy cannot be read
};

PoolPlan plan_pool(const PoolInput& input, const RolloutPolicy& policy = {});

api::PoolCounts count_nodes(const PoolPlan& plan);

/// The pool's status with counts and conditions brought up to date; other members as they were.
json::Value updated_status(const kube::Object& pool, const PoolPlan& plan, std::chrono::system_clock::time_point now);

}  // namespace strake::rollout
