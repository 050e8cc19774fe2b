#include <algorithm>

#include "api/conditions.h"
#include "rollout/plan.h"

namespace strake::rollout {

namespace {

using api::Condition;
using api::ConditionStatus;

constexpr std::size_t kDegradedNodesNamed = 10;

std::string degraded_nodes(const PoolPlan& plan, std::int64_t count) {
  std::string text;
  std::size_t named = 0;
  for (const NodePlan& node : plan.nodes) {
    if (!node.node->state.is_failure() || ++named > kDegradedNodesNamed) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("Node {} is reporting: \"{}\"", node.node->name, node.node->reason);
  }
  if (named > kDegradedNodesNamed) {
    text += fmt::format(" and {} more", count - static_cast<std::int64_t>(kDegradedNodesNamed));
  }
  return text;
}

std::size_t count_actions(const PoolPlan& plan, NodeAction action) {
  return static_cast<std::size_t>(
      std::count_if(plan.nodes.begin(), plan.nodes.end(), [&](const NodePlan& node) { return node.action == action; }));
}

/// Something moves, or will without anybody's help.
bool makes_progress(const PoolPlan& plan) {
  return std::any_of(plan.nodes.begin(), plan.nodes.end(), [](const NodePlan& node) {
    return node.action == NodeAction::kTarget || node.action == NodeAction::kUpdating ||
           (node.action == NodeAction::kWait && !node.cannot_follow);
  });
}

/// What the Updating condition says of a pool that is not there: never more than is true.
Condition updating_condition(const PoolPlan& plan, const api::PoolCounts& counts) {
  Condition condition{std::string(api::pool_condition::kUpdating), ConditionStatus::kFalse, "", "", ""};
  const Trouble* stop = plan.stopped_by();
  if (stop != nullptr && stop->kind == TroubleKind::kPaused && !plan.target.empty()) {
    condition.message = fmt::format("Pool is paused; will not update to MachineConfig {}", plan.target);
    return condition;
  }
  if (stop != nullptr) {
    condition.reason = to_string(stop->kind);
    condition.message = stop->message;
    return condition;
  }
  condition.message =
      fmt::format("{} of {} nodes are updated to MachineConfig {}, {} are updating, {} are failing, {} wait",
                  counts.updated, counts.machines, plan.target,
                  count_actions(plan, NodeAction::kUpdating) + count_actions(plan, NodeAction::kTarget),
                  count_actions(plan, NodeAction::kFailing), count_actions(plan, NodeAction::kWait));
  const auto waiting =
      std::find_if(plan.nodes.begin(), plan.nodes.end(), [](const NodePlan& node) { return !node.waits_for.empty(); });
  if (waiting != plan.nodes.end()) {
    condition.message += fmt::format("; {} waits for {}", waiting->node->name, waiting->waits_for);
  }
  if (makes_progress(plan)) {
    condition.status = ConditionStatus::kTrue;
  } else if (counts.updated < counts.machines) {
    condition.reason = "Stuck";
  }
  return condition;
}

Condition updated_condition(const PoolPlan& plan, bool all_there) {
  Condition condition{std::string(api::pool_condition::kUpdated), ConditionStatus::kFalse, "", "", ""};
  if (!all_there) return condition;
  const auto denied = std::find_if(plan.troubles.begin(), plan.troubles.end(),
                                   [](const Trouble& trouble) { return denies_updated(trouble.kind); });
  if (denied != plan.troubles.end()) {
    condition.reason = to_string(denied->kind);
    condition.message = fmt::format("The nodes at hand run MachineConfig {}, but {}", plan.target, denied->message);
    return condition;
  }
  condition.status = ConditionStatus::kTrue;
  condition.message = fmt::format("All nodes are updated with MachineConfig {}", plan.target);
  return condition;
}

/// Everything that needs somebody, in one place.
Condition degraded_condition(const PoolPlan& plan, const std::string& nodes, bool image_build) {
  Condition condition{std::string(api::pool_condition::kDegraded), ConditionStatus::kFalse, "", "", ""};
  const auto add = [&](std::string_view reason, const std::string& message) {
    if (condition.reason.empty()) condition.reason = reason;
    condition.status = ConditionStatus::kTrue;
    condition.message += (condition.message.empty() ? "" : "; ") + message;
  };
  if (!nodes.empty()) add(api::pool_condition::kNodeDegraded, nodes);
  for (const Trouble& trouble : plan.troubles) {
    if (degrades_pool(trouble.kind)) add(to_string(trouble.kind), trouble.message);
  }
  if (image_build) add(api::pool_condition::kImageBuildDegraded, "Custom OS image build failed");
  return condition;
}

}  // namespace

json::Value updated_status(const kube::Object& pool, const PoolPlan& plan, std::chrono::system_clock::time_point now) {
  json::Value object = pool.json();
  const api::PoolCounts counts = count_nodes(plan);
  api::MachineConfigPoolEdit edit(object);
  edit.set_observed_generation(pool.generation());
  edit.set_counts(counts);

  const bool all_there = !plan.target.empty() && counts.updated == counts.machines && counts.ready == counts.machines &&
                         counts.unavailable == 0;
  const Condition updated = updated_condition(plan, all_there);
  // While a rollout goes on, status names the config before.
  if (updated.status == ConditionStatus::kTrue) edit.mark_target_reached();
  const std::string degraded = degraded_nodes(plan, counts.degraded);
  Condition node_degraded{std::string(api::pool_condition::kNodeDegraded), ConditionStatus::kFalse, "", degraded, ""};
  if (counts.degraded > 0) {
    node_degraded.status = ConditionStatus::kTrue;
    node_degraded.reason = fmt::format("{} nodes are reporting degraded status on sync", counts.degraded);
  }
  const bool image_build = api::condition_is_true(object, api::pool_condition::kImageBuildDegraded);
  const Condition updating =
      all_there ? Condition{std::string(api::pool_condition::kUpdating), ConditionStatus::kFalse, "", "", ""}
                : updating_condition(plan, counts);
  for (const Condition& condition :
       {node_degraded, degraded_condition(plan, degraded, image_build), updated, updating}) {
    api::set_condition(object, condition, now);
  }
  return *api::status_of(object);
}

}  // namespace strake::rollout
