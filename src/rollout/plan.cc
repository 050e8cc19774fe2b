#include "rollout/plan.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace strake::rollout {

namespace {

/// Zone by zone, oldest first; nodes without a zone last.
bool goes_first(const NodeView& a, const NodeView& b) {
  const auto order = [](const NodeView& node) {
    return std::tuple(node.zone.empty(), node.zone, node.created, node.name);
  };
  return order(a) < order(b);
}

NodeAction present_action(const NodeView& node, const std::string& target) {
  if (node.desired_config == target) {
    if (node.failing()) return NodeAction::kFailing;
    return node.done() ? NodeAction::kCurrent : NodeAction::kUpdating;
  }
  return NodeAction::kWait;
}

Result<machineconfig::Consequence> node_consequence(const PoolInput& input, const NodeView& node,
                                                    const std::string& target) {
  const json::Value* to = input.spec_of(target);
  if (to == nullptr) {
    return error(Code::kNotFound, "rendered config {} of pool {} does not exist", target, input.pool.name());
  }
  if (node.current_config == target) return machineconfig::Consequence{};
  const json::Value* from = node.current_config.empty() ? nullptr : input.spec_of(node.current_config);
  if (!node.current_config.empty() && from == nullptr) {
    return machineconfig::Consequence{
        .disruption = machineconfig::DisruptionClass::kReboot,
        .reasons = {fmt::format("its current config {} no longer exists to compare with", node.current_config)}};
  }
  return machineconfig::consequence_of(from, *to, input.policy)
      .context("comparing {} with {}", node.current_config, target);
}

/// Lets as many waiting nodes go as capacity allows; the others learn what they wait for.
void choose_targets(PoolPlan& plan) {
  std::vector<NodePlan*> waiting;
  int failing = 0;
  for (NodePlan& node : plan.nodes) {
    if (node.action == NodeAction::kWait) waiting.push_back(&node);
    if (node.action == NodeAction::kFailing) ++failing;
  }
  if (plan.paused) {
    for (NodePlan* node : waiting) node->waits_for = "its pool, which is paused";
    return;
  }
  std::sort(waiting.begin(), waiting.end(),
            [](const NodePlan* a, const NodePlan* b) { return goes_first(a->node, b->node); });
  int capacity = plan.max_unavailable - plan.unavailable - failing;
  for (NodePlan* node : waiting) {
    if (!node->consequence.beyond_agent.empty()) {
      node->waits_for = fmt::format("another config, or another agent: this one cannot apply {}",
                                    fmt::join(node->consequence.beyond_agent, ", "));
    } else if (node->node.is_new()) {
      node->action = NodeAction::kTarget;
    } else if (!node->node.ready()) {
      node->waits_for = node->node.schedulable ? "the node to be Ready" : "the node to be schedulable";
    } else if (!node->node.done() && !node->node.failing()) {
      // Changing the goal under a working agent would make its plan, and what it told people, untrue.
      node->waits_for = fmt::format("its update to {} to finish", node->node.desired_config);
    } else if (node->consequence.disruption == machineconfig::DisruptionClass::kReinstall) {
      node->waits_for =
          fmt::format("a new installation, or another config: {}", fmt::join(node->consequence.reasons, "; "));
    } else if (capacity > 0) {
      node->action = NodeAction::kTarget;
      --capacity;
    } else {
      node->waits_for =
          fmt::format("its turn: {} of {} nodes may be away at once", plan.max_unavailable, plan.nodes.size());
    }
  }
}

}  // namespace

std::string_view to_string(NodeAction action) {
  switch (action) {
    case NodeAction::kCurrent: return "current";
    case NodeAction::kUpdating: return "updating";
    case NodeAction::kFailing: return "failing";
    case NodeAction::kTarget: return "target";
    case NodeAction::kWait: return "wait";
  }
  return "unknown";
}

Result<PoolPlan> plan_pool(const PoolInput& input) {
  PoolPlan plan;
  plan.pool = input.pool.name();
  const api::MachineConfigPoolView pool(input.pool.json());
  plan.target = pool.target();
  plan.paused = pool.paused() || input.pool.deleting();
  STRAKE_TRY_CONTEXT(plan.max_unavailable, pool.max_unavailable(static_cast<int>(input.nodes.size())),
                     "MachineConfigPool {}: spec.maxUnavailable", plan.pool);
  for (const kube::Object& node : input.nodes) {
    NodePlan node_plan;
    node_plan.node = node_view(node);
    // A new node runs no workload: taking its place in the pool disturbs nobody.
    if (!node_plan.node.is_new() && occupies_capacity(node_plan.node)) ++plan.unavailable;
    plan.nodes.push_back(std::move(node_plan));
  }
  std::sort(plan.nodes.begin(), plan.nodes.end(),
            [](const NodePlan& a, const NodePlan& b) { return a.node.name < b.node.name; });
  if (plan.target.empty()) {
    for (NodePlan& node : plan.nodes) {
      node.action = NodeAction::kWait;
      node.waits_for = "the pool's first rendered config";
    }
    return plan;
  }
  // Most nodes of a pool come from the same config; comparing two of them is the dear part of a plan.
  std::map<std::string, machineconfig::Consequence> by_current;
  for (NodePlan& node : plan.nodes) {
    node.action = present_action(node.node, plan.target);
    const auto known = by_current.find(node.node.current_config);
    if (known != by_current.end()) {
      node.consequence = known->second;
      continue;
    }
    STRAKE_TRY(node.consequence, node_consequence(input, node.node, plan.target));
    by_current.emplace(node.node.current_config, node.consequence);
  }
  choose_targets(plan);
  return plan;
}

api::PoolCounts count_nodes(const PoolPlan& plan) {
  api::PoolCounts counts;
  counts.machines = static_cast<std::int64_t>(plan.nodes.size());
  for (const NodePlan& node : plan.nodes) {
    const bool updated = node.node.done() && node.node.desired_config == plan.target;
    if (updated) ++counts.updated;
    if (updated && node.node.ready()) ++counts.ready;
    if (occupies_capacity(node.node)) ++counts.unavailable;
    if (node.node.state == "Degraded" || node.node.state == "Unreconcilable") ++counts.degraded;
  }
  return counts;
}

}  // namespace strake::rollout
