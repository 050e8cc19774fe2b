#include "api/conditions.h"
#include "rollout/plan.h"

namespace strake::rollout {

namespace {

using api::Condition;
using api::ConditionStatus;

ConditionStatus as_status(bool value) { return value ? ConditionStatus::kTrue : ConditionStatus::kFalse; }

std::string degraded_message(const PoolPlan& plan) {
  std::string text;
  for (const NodePlan& node : plan.nodes) {
    if (node.node.state != "Degraded" && node.node.state != "Unreconcilable") continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("Node {} is reporting: \"{}\"", node.node.name, node.node.reason);
  }
  return text;
}

}  // namespace

json::Value updated_status(const kube::Object& pool, const PoolPlan& plan, std::chrono::system_clock::time_point now) {
  json::Value object = pool.json();
  const api::PoolCounts counts = count_nodes(plan);
  api::MachineConfigPoolEdit edit(object);
  edit.set_observed_generation(pool.generation());
  edit.set_counts(counts);

  const bool all_updated = !plan.target.empty() && counts.updated == counts.machines &&
                           counts.ready == counts.machines && counts.unavailable == 0;
  if (all_updated) edit.mark_target_reached();  // while a rollout goes on, status names the config before
  const auto set = [&](std::string_view type, bool value, std::string reason, std::string message) {
    api::set_condition(object,
                       Condition{std::string(type), as_status(value), std::move(reason), std::move(message), ""}, now);
  };
  const std::string degraded = degraded_message(plan);
  set(api::pool_condition::kNodeDegraded, counts.degraded > 0,
      counts.degraded > 0 ? fmt::format("{} nodes are reporting degraded status on sync", counts.degraded) : "",
      degraded);
  const bool render_degraded = api::condition_is_true(object, api::pool_condition::kRenderDegraded);
  set(api::pool_condition::kDegraded, counts.degraded > 0 || render_degraded, "", degraded);
  set(api::pool_condition::kUpdated, all_updated, "",
      all_updated ? fmt::format("All nodes are updated with MachineConfig {}", plan.target) : "");
  std::string updating;
  if (!all_updated && !plan.target.empty()) {
    updating = plan.paused ? fmt::format("Pool is paused; will not update to MachineConfig {}", plan.target)
                           : fmt::format("All nodes are updating to MachineConfig {}", plan.target);
  }
  set(api::pool_condition::kUpdating, !all_updated && !plan.paused && !plan.target.empty(), "", updating);
  return *json::find(object, {"status"});
}

}  // namespace strake::rollout
