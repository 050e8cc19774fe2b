#include "rollout/node_view.h"

#include "api/machine_config_pool.h"
#include "api/node_annotations.h"
#include "kube/selector.h"

namespace strake::rollout {

namespace {

bool conditions_healthy(const kube::Object& node) {
  const json::Value* conditions = json::find(node.json(), {"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) return false;
  bool ready = false;
  for (const json::Value& condition : conditions->get_array()) {
    const std::string type = json::find_string(condition, {"type"}).value_or("");
    const std::string status = json::find_string(condition, {"status"}).value_or("");
    if (type == "Ready") ready = status == "True";
    if ((type == "DiskPressure" || type == "NetworkUnavailable") && status != "False") return false;
  }
  return ready;
}

}  // namespace

bool NodeView::done() const { return !current_config.empty() && current_config == desired_config && state == "Done"; }

bool NodeView::failing() const {
  return current_config != desired_config && (state == "Degraded" || state == "Unreconcilable");
}

NodeView node_view(const kube::Object& node) {
  NodeView view;
  const auto annotation = [&](std::string_view name) { return node.annotation(name).value_or(""); };
  view.name = node.name();
  view.zone = node.label(api::label::kZone).value_or("");
  view.created = node.creation_timestamp();
  view.schedulable = !json::find_bool(node.json(), {"spec", "unschedulable"}).value_or(false);
  view.healthy = conditions_healthy(node);
  view.current_config = annotation(api::node_annotation::kCurrentConfig);
  view.desired_config = annotation(api::node_annotation::kDesiredConfig);
  view.state = annotation(api::node_annotation::kState);
  view.reason = annotation(api::node_annotation::kReason);
  view.planned_class = annotation(api::node_annotation::kPlannedClass);
  view.executed_class = annotation(api::node_annotation::kExecutedClass);
  return view;
}

Result<std::optional<std::string>> primary_pool(const kube::Object& node, const std::vector<kube::Object>& pools) {
  const kube::Labels labels = node.labels();
  if (const auto os = labels.find(std::string(api::label::kOs)); os != labels.end() && os->second == "windows")
    return std::optional<std::string>();
  bool master = false, worker = false;
  std::vector<std::string> custom;
  for (const kube::Object& pool : pools) {
    STRAKE_TRY_CONTEXT(const kube::Selector selector,
                       kube::Selector::from_json(api::MachineConfigPoolView(pool.json()).node_selector(),
                                                 kube::AbsentSelector::kMatchesNothing),
                       "MachineConfigPool {}: spec.nodeSelector", pool.name());
    if (selector.matches_everything() || !selector.matches(labels)) continue;
    if (pool.name() == api::kMasterPool) {
      master = true;
    } else if (pool.name() == api::kWorkerPool) {
      worker = true;
    } else {
      custom.push_back(pool.name());
    }
  }
  if (custom.size() > 1) {
    return error(Code::kInvalidArgument,
                 "node {} belongs to {} custom roles ({}, {}, ...), cannot proceed with this Node", node.name(),
                 custom.size(), custom[0], custom[1]);
  }
  if (master) return std::optional<std::string>(api::kMasterPool);
  if (!custom.empty()) return std::optional(custom.front());
  if (worker) return std::optional<std::string>(api::kWorkerPool);
  return std::optional<std::string>();
}

}  // namespace strake::rollout
