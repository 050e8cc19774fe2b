#include "api/node_annotations.h"
#include "rollout/plan.h"

namespace strake::rollout {

// Alone in its file: the simulation links a planted lost patch in its place and must notice.
json::Value target_patch(const kube::Object&, const std::string& config, machineconfig::DisruptionClass planned) {
  json::Object annotations;
  annotations[api::node_annotation::kDesiredConfig] = config;
  annotations[api::node_annotation::kPlannedClass] = machineconfig::to_string(planned);
  return json::Object{{"metadata", json::Object{{"annotations", std::move(annotations)}}}};
}

}  // namespace strake::rollout
