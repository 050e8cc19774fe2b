// What a proposed change costs in nodes: how many of each pool, which, how many at once, and what happens to each.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codec/json.h"
#include "rollout/cluster_plan.h"

namespace strake::cmd {

struct NodeCost {
  std::string pool;
  bool paused = false;
  std::size_t nodes = 0;  ///< of the pool, once the change is made
  int max_unavailable = 1;
  std::vector<rollout::NodePlan> changing;  ///< nodes that get another config, or another pool, because of the change
};

/// Where each node is bound for: "worker rendered-worker-<hash>", by the node's name.
using Destinations = std::map<std::string, std::string>;
Destinations destinations(const rollout::PoolMembers& members, const std::map<std::string, std::string>& targets);

struct ClusterCost {
  std::vector<NodeCost> pools = {};             ///< with nodes that change, by name
  std::vector<rollout::StrayNode> strays = {};  ///< nodes that no pool takes any more

  bool empty() const { return pools.empty() && strays.empty(); }
};

/// What differs from where the nodes are bound for without the change.
ClusterCost cost_in_nodes(const rollout::ClusterPlan& proposed, const Destinations& before);

/// {pool, paused, nodes, maxUnavailable, atOnce, changing[{name, class, actions, reasons, waitsFor}]} each; all nodes.
json::Array to_json(const std::vector<NodeCost>& costs);
/// A line a pool, with the first few names; behind it what a paused pool waits for.
std::string to_text(const ClusterCost& cost);

}  // namespace strake::cmd
