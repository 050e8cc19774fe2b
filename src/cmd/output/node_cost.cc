#include "cmd/output/node_cost.h"

#include <algorithm>

#include "base/visible_text.h"

namespace strake::cmd {

namespace {

constexpr std::size_t kNodesNamed = 8;

/// How many may go at the same time: no more than there are.
std::size_t at_once(const NodeCost& cost) {
  return std::min(cost.changing.size(), static_cast<std::size_t>(std::max(cost.max_unavailable, 0)));
}

std::string first_names(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), kNodesNamed);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return visible_line(text);
}

/// "2 reboot, 1 restart": the dearest first.
std::string classes_of(const NodeCost& cost) {
  std::map<machineconfig::DisruptionClass, std::size_t, std::greater<>> counts;
  for (const rollout::NodePlan& node : cost.changing) ++counts[node.consequence->disruption];
  std::vector<std::string> parts;
  parts.reserve(counts.size());
  for (const auto& [disruption, count] : counts) {
    parts.push_back(fmt::format("{} {}", count, machineconfig::to_string(disruption)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string cost_line(const NodeCost& cost) {
  std::vector<std::string> names;
  names.reserve(cost.changing.size());
  for (const rollout::NodePlan& node : cost.changing) names.push_back(node.node->name);
  return fmt::format("pool {}: {}{} of {} nodes change ({}), {} at once: {}\n", visible_line(cost.pool),
                     cost.paused ? "paused, so nothing happens until it is resumed; then " : "", cost.changing.size(),
                     cost.nodes, classes_of(cost), at_once(cost), first_names(names));
}

json::Value changing_node(const rollout::NodePlan& node) {
  json::Array reasons, actions;
  for (const std::string& reason : node.consequence->reasons) reasons.emplace_back(reason);
  for (const machineconfig::PolicyAction& action : node.consequence->actions) actions.emplace_back(action.to_string());
  json::Object item{{"name", node.node->name},
                    {"class", machineconfig::to_string(node.consequence->disruption)},
                    {"actions", std::move(actions)},
                    {"reasons", std::move(reasons)}};
  if (!node.waits_for.empty()) item["waitsFor"] = node.waits_for;
  return item;
}

}  // namespace

Destinations destinations(const rollout::PoolMembers& members, const std::map<std::string, std::string>& targets) {
  Destinations bound;
  for (const auto& [pool, nodes] : members.by_pool) {
    const auto target = targets.find(pool);
    for (const api::NodePtr& node : nodes) {
      bound[node->name] = fmt::format("{} {}", pool, target == targets.end() ? "" : target->second);
    }
  }
  return bound;
}

ClusterCost cost_in_nodes(const rollout::ClusterPlan& proposed, const Destinations& before) {
  ClusterCost cost;
  for (const rollout::PoolPlan& pool : proposed.pools) {
    NodeCost of_pool{pool.pool, pool.paused, pool.nodes.size(), pool.max_unavailable, {}};
    const std::string bound = fmt::format("{} {}", pool.pool, pool.target);
    for (const rollout::NodePlan& node : pool.nodes) {
      const auto known = before.find(node.node->name);
      if (known == before.end() || known->second != bound) of_pool.changing.push_back(node);
    }
    if (!of_pool.changing.empty()) cost.pools.push_back(std::move(of_pool));
  }
  std::ranges::sort(cost.pools, {}, &NodeCost::pool);
  for (const rollout::StrayNode& node : proposed.strays) {
    if (before.contains(node.name)) cost.strays.push_back(node);
  }
  return cost;
}

json::Array to_json(const std::vector<NodeCost>& costs) {
  json::Array list;
  for (const NodeCost& cost : costs) {
    json::Array nodes;
    for (const rollout::NodePlan& node : cost.changing) nodes.push_back(changing_node(node));
    list.push_back(json::Object{{"pool", cost.pool},
                                {"paused", cost.paused},
                                {"nodes", cost.nodes},
                                {"maxUnavailable", cost.max_unavailable},
                                {"atOnce", at_once(cost)},
                                {"changing", std::move(nodes)}});
  }
  return list;
}

std::string to_text(const ClusterCost& cost) {
  std::string text;
  for (const NodeCost& of_pool : cost.pools) text += cost_line(of_pool);
  std::vector<std::string> names;
  names.reserve(cost.strays.size());
  for (const rollout::StrayNode& node : cost.strays) names.push_back(node.name);
  if (!names.empty()) {
    text += fmt::format("no pool takes {} any more: no update reaches {}\n", first_names(names),
                        names.size() == 1 ? "it" : "them");
  }
  return text;
}

}  // namespace strake::cmd
