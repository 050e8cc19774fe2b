#include "cmd/plan_text.h"

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

}  // namespace

std::string render_plan(const std::vector<rollout::PoolPlan>& plans) {
  if (plans.empty()) return "No pools. Apply a release first: strake release apply DIR\n";
  std::string text;
  for (const rollout::PoolPlan& plan : plans) {
    text += fmt::format("pool {}: {}{}; {} of {} nodes may be away at once, {} away now\n", plan.pool,
                        plan.target.empty() ? "nothing rendered yet" : "to " + plan.target,
                        plan.paused ? " (paused)" : "", plan.max_unavailable, plan.nodes.size(), plan.unavailable);
    for (const rollout::NodePlan& node : plan.nodes) {
      std::string what;
      if (node.action == rollout::NodeAction::kCurrent) {
        what = "already there";
      } else if (node.action == rollout::NodeAction::kFailing) {
        what = "failing: " + node.node.reason;
      } else {
        what = fmt::format("{}: {}", machineconfig::to_string(node.consequence.disruption),
                           joined_reasons(node.consequence.reasons));
      }
      text += fmt::format("  {:<12} {:<9} {}\n", node.node.name, to_string(node.action), what);
      if (!node.waits_for.empty()) text += fmt::format("  {:<12} {:<9} waits for {}\n", "", "", node.waits_for);
    }
  }
  return text;
}

json::Value render_plan_json(const std::vector<rollout::PoolPlan>& plans) {
  json::Array pools;
  for (const rollout::PoolPlan& plan : plans) {
    json::Array nodes;
    for (const rollout::NodePlan& node : plan.nodes) {
      json::Array reasons;
      for (const std::string& reason : node.consequence.reasons) reasons.emplace_back(reason);
      json::Object item{{"name", node.node.name},
                        {"action", to_string(node.action)},
                        {"class", machineconfig::to_string(node.consequence.disruption)},
                        {"reasons", std::move(reasons)},
                        {"currentConfig", node.node.current_config},
                        {"state", node.node.state}};
      if (!node.waits_for.empty()) item["waitsFor"] = node.waits_for;
      nodes.push_back(std::move(item));
    }
    pools.push_back(json::Object{{"name", plan.pool},
                                 {"target", plan.target},
                                 {"paused", plan.paused},
                                 {"maxUnavailable", plan.max_unavailable},
                                 {"unavailable", plan.unavailable},
                                 {"nodes", std::move(nodes)}});
  }
  return json::Object{{"pools", std::move(pools)}};
}

}  // namespace strake::cmd
