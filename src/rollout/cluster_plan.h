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

/// Names of the rendered configs a pool's plan compares: its target and what its nodes run.
std::set<std::string> configs_needed(const kube::Object& pool, const std::vector<api::NodePtr>& nodes);

}  // namespace strake::rollout
