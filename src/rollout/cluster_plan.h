// The plans of all pools, read from the API once: what `strake plan` shows.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/kube_api.h"
#include "rollout/plan.h"

namespace strake::rollout {

struct ClusterPlan {
  std::vector<PoolPlan> pools;    ///< by name
  std::vector<StrayNode> strays;  ///< nodes of no pool, or of two: nobody manages them
};

Result<ClusterPlan> read_cluster_plan(kube::KubeApi& api, const kube::Call& call);

/// Every node of the cluster.
Result<std::vector<api::NodePtr>> read_nodes(kube::KubeApi& api, const kube::Call& call);

/// A pool as somebody would like to have it, and what would be rendered for it.
struct ProposedPool {
  kube::ObjectPtr pool;
  kube::ObjectPtr rendered;  ///< nullptr: it goes on with what it has, and takes its nodes all the same
};

/// The plans if these were the cluster's pools; what its nodes run is read from the API.
Result<ClusterPlan> plan_proposal(kube::KubeApi& api, const std::vector<api::NodePtr>& nodes,
                                  const std::vector<ProposedPool>& proposal,
                                  const Result<machineconfig::DisruptionPolicy>& policy, const kube::Call& call);

/// Names of the rendered configs a pool's plan compares: its target and what its nodes run.
std::set<std::string> configs_needed(const kube::Object& pool, const std::vector<api::NodePtr>& nodes);

}  // namespace strake::rollout
