#include "api/node.h"

#include "base/secrets.h"

namespace strake::api {

namespace {

constexpr NodeState::Value kKnownStates[] = {NodeState::kDone, NodeState::kWorking, NodeState::kDegraded,
                                             NodeState::kUnreconcilable, NodeState::kRebooting};
constexpr std::string_view kReadAnnotations[] = {node_annotation::kCurrentConfig, node_annotation::kDesiredConfig,
                                                 node_annotation::kState,         node_annotation::kReason,
                                                 node_annotation::kPlannedClass,  node_annotation::kExecutedClass};
constexpr std::string_view kReadMetadata[] = {"name", "uid", "resourceVersion", "creationTimestamp", "labels"};

/// The conditions of a Node that decide about its health.
enum class HealthCondition { kReady, kDiskPressure, kNetworkUnavailable, kNone };
HealthCondition health_condition(const json::Value& condition) {
  const std::string type = json::find_string(condition, {"type"}).value_or("");
  if (type == "Ready") return HealthCondition::kReady;
  if (type == "DiskPressure") return HealthCondition::kDiskPressure;
  if (type == "NetworkUnavailable") return HealthCondition::kNetworkUnavailable;
  return HealthCondition::kNone;
}

const json::Array& node_conditions(const kube::Object& node) {
  static const json::Array kNone;
  const json::Value* conditions = json::find(node.json(), {"status", "conditions"});
  return conditions == nullptr || !conditions->is_array() ? kNone : conditions->get_array();
}

bool is_healthy(const kube::Object& node) {
  bool ready = false;
  for (const json::Value& condition : node_conditions(node)) {
    const std::string status = json::find_string(condition, {"status"}).value_or("");
    switch (health_condition(condition)) {
      case HealthCondition::kReady: ready = status == "True"; break;
      case HealthCondition::kDiskPressure:
      case HealthCondition::kNetworkUnavailable:
        if (status != "False") return false;
        break;
      case HealthCondition::kNone: break;
    }
  }
  return ready;
}

}  // namespace

std::string_view to_string(NodeState::Value state) {
  switch (state) {
    case NodeState::kAbsent: return "";
    case NodeState::kDone: return "Done";
    case NodeState::kWorking: return "Working";
    case NodeState::kDegraded: return "Degraded";
    case NodeState::kUnreconcilable: return "Unreconcilable";
    case NodeState::kRebooting: return "Rebooting";
    case NodeState::kOther: return "Other";
  }
  return "";
}

NodeState NodeState::parse(std::string_view text) {
  if (text.empty()) return kAbsent;
  for (const Value known : kKnownStates) {
    if (text == api::to_string(known)) return known;
  }
  NodeState other(kOther);
  other.other_ = text;
  return other;
}

std::string_view NodeState::text() const {
  return value_ == kOther ? std::string_view(other_) : api::to_string(value_);
}

bool NodeView::is_windows() const {
  const auto os = labels.find(std::string(label::kOs));
  return os != labels.end() && os->second == "windows";
}

std::string reason_text(std::string_view failure) { return public_text(failure, kMaxReasonLength); }

NodeView node_view(const kube::Object& node) {
  const auto annotation = [&](std::string_view name) {
    return public_text(node.annotation(name).value_or(""), kMaxReasonLength);
  };
  const auto config = [&](std::string_view name) {
    std::string text = node.annotation(name).value_or("");
    return kube::is_object_name(text) ? std::move(text) : std::string();
  };
  NodeView view;
  view.name = node.name();
  view.uid = node.uid();
  view.labels = node.labels();
  view.zone = node.label(label::kZone).value_or("");
  view.created = node.creation_timestamp();
  view.schedulable = !json::find_bool(node.json(), {"spec", "unschedulable"}).value_or(false);
  view.healthy = is_healthy(node);
  view.current_config = config(node_annotation::kCurrentConfig);
  view.desired_config = config(node_annotation::kDesiredConfig);
  view.state = NodeState::parse(annotation(node_annotation::kState));
  view.reason = annotation(node_annotation::kReason);
  view.planned_class = annotation(node_annotation::kPlannedClass);
  view.executed_class = annotation(node_annotation::kExecutedClass);
  return view;
}

kube::Object slim_node(const kube::Object& node) {
  json::Object metadata;
  for (const std::string_view member : kReadMetadata) {
    if (const json::Value* value = json::find(node.json(), {"metadata", member})) metadata[member] = *value;
  }
  json::Object annotations;
  for (const std::string_view name : kReadAnnotations) {
    // More than node_view looks at is kept of none.
    if (const auto value = node.annotation(name)) annotations[name] = value->substr(0, 4 * kMaxReasonLength);
  }
  if (!annotations.empty()) metadata["annotations"] = std::move(annotations);
  json::Array conditions;
  for (const json::Value& condition : node_conditions(node)) {
    if (health_condition(condition) == HealthCondition::kNone) continue;
    conditions.push_back(json::Object{{"type", json::find_string(condition, {"type"}).value_or("")},
                                      {"status", json::find_string(condition, {"status"}).value_or("")}});
  }
  json::Object slim{{"apiVersion", node.api_version()},
                    {"kind", node.kind()},
                    {"metadata", std::move(metadata)},
                    {"status", json::Object{{"conditions", std::move(conditions)}}}};
  if (json::find_bool(node.json(), {"spec", "unschedulable"}).value_or(false)) {
    slim["spec"] = json::Object{{"unschedulable", true}};
  }
  return kube::Object(json::Value(std::move(slim)));
}

kube::Object new_node(const std::string& name, const std::string& role, const std::string& zone) {
  kube::Object node(kube::core::kNode, {"", name});
  node.set_label(std::string(label::kNodeRolePrefix) + role, "");
  node.set_label(label::kOs, "linux");
  node.set_label("kubernetes.io/hostname", name);
  if (!zone.empty()) node.set_label(label::kZone, zone);
  return node;
}

json::Value node_status_patch(const NodeReport& report) {
  const json::Value condition = json::Object{{"type", "Ready"},
                                             {"status", report.ready ? "True" : "False"},
                                             {"reason", report.reason},
                                             {"message", report.message},
                                             {"lastHeartbeatTime", report.now},
                                             {"lastTransitionTime", report.ready_since}};
  const json::Value info = json::Object{{"bootID", report.boot_id},
                                        {"osImage", report.os_image},
                                        {"kubeletVersion", report.kubelet_version},
                                        {"operatingSystem", "linux"},
                                        {"architecture", "amd64"}};
  return json::Object{{"status", json::Object{{"conditions", json::Array{condition}}, {"nodeInfo", info}}}};
}

NodePatch& NodePatch::set(std::string_view annotation, std::string_view value) {
  annotations_[annotation] = value;
  return *this;
}

json::Value NodePatch::to_json() const {
  return json::Object{{"metadata", json::Object{{"annotations", annotations_}}}};
}

}  // namespace strake::api
