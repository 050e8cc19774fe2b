// Planted mistake: the patch carries every annotation as it was read, so what others wrote meanwhile is lost.
#include "api/node_annotations.h"
#include "rollout/plan.h"

namespace strake::rollout {

json::Value target_patch(const kube::Object& node, const std::string& config, machineconfig::DisruptionClass planned) {
  json::Object annotations;
  for (const auto& [name, value] : node.annotations()) annotations[name] = value;
  annotations[api::node_annotation::kDesiredConfig] = config;
  annotations[api::node_annotation::kPlannedClass] = machineconfig::to_string(planned);
  return json::Object{{"metadata", json::Object{{"annotations", std::move(annotations)}}}};
}

}  // namespace strake::rollout
