// What `strake plan` prints of the plans of all pools.
#pragma once

#include <string>

#include "codec/json.h"
#include "rollout/cluster_plan.h"

namespace strake::cmd {

std::string render_plan(const rollout::ClusterPlan& plan);
json::Value render_plan_json(const rollout::ClusterPlan& plan);

}  // namespace strake::cmd
