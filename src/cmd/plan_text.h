// What `strake plan` prints of the plans of all pools.
#pragma once

#include <string>
#include <vector>

#include "codec/json.h"
#include "rollout/plan.h"

namespace strake::cmd {

std::string render_plan(const std::vector<rollout::PoolPlan>& plans);
json::Value render_plan_json(const std::vector<rollout::PoolPlan>& plans);

}  // namespace strake::cmd
