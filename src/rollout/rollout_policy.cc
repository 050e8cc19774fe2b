#include "rollout/rollout_policy.h"

namespace strake::rollout {

bool occupies_capacity(const api::NodeView& node) { return !node.ready() || (!node.done() && !node.failing()); }

json::Value target_patch(const std::string& config, machineconfig::DisruptionClass planned) {
  return api::NodePatch().set_desired_config(config).set_planned_class(machineconfig::to_string(planned)).to_json();
}

}  // namespace strake::rollout
