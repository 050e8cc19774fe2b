#include "cmd/output/plan_text.h"

#include <algorithm>

namespace strake::cmd {

namespace {

constexpr std::size_t kReasonsShown = 4;

std::string joined_reasons(const std::vector<std::string>& reasons) {
  std::string text;
  for (std::size_t i = 0; i < std::min(reasons.size(), kReasonsShown); ++i) {
    if (i > 0) text += ", ";
    text += reasons[i];
  }
  if (reasons.size() > kReasonsShown) text += fmt::format(" and {} more", reasons.size() - kReasonsShown);
  return text;
}

/// A node that runs the target is where it should be only if the target is what its pool's MachineConfigs ask for.
std::string where_it_is(const rollout::PoolPlan& plan) {
  if (plan.find(rollout::TroubleKind::kRenderFailed) != nullptr) {
    return "runs the last config that could be rendered, not what is asked for now";
  }
  if (plan.find(rollout::TroubleKind::kRenderWaits) != nullptr) {
    return "runs the last rendered config; a newer one is waited for";
  }
  return "already there";
}

std::string node_text(const rollout::PoolPlan& plan, const rollout::NodePlan& node) {
  switch (node.action) {
    case rollout::NodeAction::kCurrent: return where_it_is(plan);
    case rollout::NodeAction::kFailing: return "failing: " + node.node->reason;
    case rollout::NodeAction::kUpdating:
    case rollout::NodeAction::kTarget:
    case rollout::NodeAction::kWait: break;
  }
  if (node.consequence->reasons.empty() && !node.waits_for.empty()) return "what it will cost is not known yet";
  std::string text = fmt::format("{}: {}", machineconfig::to_string(node.consequence->disruption),
                                 joined_reasons(node.consequence->reasons));
  std::vector<std::string> actions;
  actions.reserve(node.consequence->actions.size());
  for (const machineconfig::PolicyAction& action : node.consequence->actions) actions.push_back(action.to_string());
  if (!actions.empty()) text += fmt::format("; then {}", fmt::join(actions, ", "));
  return text;
}

std::string pool_line(const rollout::PoolPlan& plan) {
  const std::string limit =
      plan.find(rollout::TroubleKind::kInvalidMaxUnavailable) != nullptr
          ? "no node may be away"
          : fmt::format("{} of {} nodes may be away at once", plan.max_unavailable, plan.nodes.size());
  return fmt::format("pool {}: {}{}; {}, {} away now\n", plan.pool,
                     plan.target.empty() ? "nothing rendered yet" : "to " + plan.target, plan.paused ? " (paused)" : "",
                     limit, plan.unavailable);
}

json::Value node_json(const rollout::NodePlan& node) {
  json::Array reasons;
  for (const std::string& reason : node.consequence->reasons) reasons.emplace_back(reason);
  json::Array actions;
  for (const machineconfig::PolicyAction& action : node.consequence->actions) actions.emplace_back(action.to_string());
  json::Object item{{"name", node.node->name},
                    {"action", to_string(node.action)},
                    {"class", machineconfig::to_string(node.consequence->disruption)},
                    {"reasons", std::move(reasons)},
                    {"actions", std::move(actions)},
                    {"currentConfig", node.node->current_config},
                    {"state", node.node->state.text()}};
  if (!node.waits_for.empty()) item["waitsFor"] = node.waits_for;
  return item;
}

}  // namespace

std::string render_plan(const rollout::ClusterPlan& plan) {
  if (plan.pools.empty()) return "No pools. Apply a release first: strake release apply DIR\n";
  std::string text;
  for (const rollout::PoolPlan& pool : plan.pools) {
    text += pool_line(pool);
    for (const rollout::Trouble& trouble : pool.troubles) {
      text += fmt::format("  {}: {}\n", to_string(trouble.kind), trouble.message);
    }
    for (const rollout::NodePlan& node : pool.nodes) {
      text += fmt::format("  {:<12} {:<9} {}\n", node.node->name, to_string(node.action), node_text(pool, node));
      if (!node.waits_for.empty()) text += fmt::format("  {:<12} {:<9} waits for {}\n", "", "", node.waits_for);
    }
  }
  if (!plan.strays.empty()) text += "nodes that no pool manages:\n";
  for (const rollout::StrayNode& node : plan.strays) text += fmt::format("  {:<12} {}\n", node.name, node.why());
  return text;
}

json::Value render_plan_json(const rollout::ClusterPlan& plan) {
  json::Array pools;
  for (const rollout::PoolPlan& pool : plan.pools) {
    json::Array nodes;
    for (const rollout::NodePlan& node : pool.nodes) nodes.push_back(node_json(node));
    json::Array troubles;
    for (const rollout::Trouble& trouble : pool.troubles) {
      troubles.push_back(json::Object{{"reason", to_string(trouble.kind)}, {"message", trouble.message}});
    }
    pools.push_back(json::Object{{"name", pool.pool},
                                 {"target", pool.target},
                                 {"paused", pool.paused},
                                 {"maxUnavailable", pool.max_unavailable},
                                 {"unavailable", pool.unavailable},
                                 {"troubles", std::move(troubles)},
                                 {"nodes", std::move(nodes)}});
  }
  json::Array strays;
  for (const rollout::StrayNode& node : plan.strays) {
    json::Array claimed_by;
    for (const std::string& pool : node.pools) claimed_by.emplace_back(pool);
    strays.push_back(json::Object{{"name", node.name}, {"pools", std::move(claimed_by)}, {"message", node.why()}});
  }
  return json::Object{{"pools", std::move(pools)}, {"strayNodes", std::move(strays)}};
}

}  // namespace strake::cmd
