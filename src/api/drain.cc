#include "api/drain.h"

#include "api/node_annotations.h"

namespace strake::api {

namespace {

constexpr std::string_view kMirrorAnnotation = "kubernetes.io/config.mirror";
constexpr std::size_t kMaxRequestLength = 512;

std::string request_text(const kube::Object& node, std::string_view annotation) {
  std::string text = node.annotation(annotation).value_or("");
  // A node writes what it likes; a request nobody could have made is none.
  return text.size() <= kMaxRequestLength ? text : std::string();
}

bool is_controlled_by_daemon_set(const kube::Object& pod) {
  const json::Value* owners = json::find(pod.json(), {"metadata", "ownerReferences"});
  if (owners == nullptr || !owners->is_array()) return false;
  for (const json::Value& owner : owners->get_array()) {
    if (json::find_string(owner, {"kind"}) == "DaemonSet" && json::find_bool(owner, {"controller"}).value_or(false))
      return true;
  }
  return false;
}

}  // namespace

DrainRequest DrainView::request() const {
  if (asked.empty() || asked == applied) return DrainRequest::kNone;
  if (asked.starts_with(kDrainVerb)) return DrainRequest::kDrain;
  if (asked.starts_with(kUncordonVerb)) return DrainRequest::kUncordon;
  return DrainRequest::kUnknown;
}

DrainView drain_view(const kube::Object& node) {
  DrainView view;
  view.node = node.name();
  view.asked = request_text(node, node_annotation::kDesiredDrain);
  view.applied = request_text(node, node_annotation::kLastAppliedDrain);
  view.schedulable = !json::find_bool(node.json(), {"spec", "unschedulable"}).value_or(false);
  view.cordoned_by_us = node.annotation(node_annotation::kCordonedByStrake).has_value();
  return view;
}

kube::Object slim_drain_node(const kube::Object& node) {
  const DrainView view = drain_view(node);
  json::Object annotations;
  if (!view.asked.empty()) annotations[node_annotation::kDesiredDrain] = view.asked;
  if (!view.applied.empty()) annotations[node_annotation::kLastAppliedDrain] = view.applied;
  if (view.cordoned_by_us) annotations[node_annotation::kCordonedByStrake] = "";
  json::Object metadata;
  metadata["name"] = view.node;
  metadata["uid"] = node.uid();
  metadata["resourceVersion"] = node.resource_version();
  metadata["annotations"] = std::move(annotations);
  json::Object spec;
  if (!view.schedulable) spec["unschedulable"] = true;
  json::Object slim;
  slim["apiVersion"] = node.api_version();
  slim["kind"] = node.kind();
  slim["metadata"] = std::move(metadata);
  slim["spec"] = std::move(spec);
  return kube::Object(json::Value(std::move(slim)));
}

json::Value cordon_patch() {
  json::Value patch;
  json::ensure(patch, {"metadata", "annotations", node_annotation::kCordonedByStrake}) = "";
  json::ensure(patch, {"spec", "unschedulable"}) = true;
  return patch;
}

json::Value uncordon_patch() {
  json::Value patch;
  json::ensure(patch, {"metadata", "annotations", node_annotation::kCordonedByStrake}) = nullptr;
  json::ensure(patch, {"spec", "unschedulable"}) = nullptr;
  return patch;
}

json::Value drain_applied_patch(const std::string& asked) {
  json::Value patch;
  json::ensure(patch, {"metadata", "annotations", node_annotation::kLastAppliedDrain}) = asked;
  return patch;
}

PodView pod_view(const kube::Object& pod) {
  PodView view;
  view.key = pod.key();
  view.uid = pod.uid();
  view.leaving = json::find(pod.json(), {"metadata", "deletionTimestamp"}) != nullptr;
  view.of_node = pod.annotation(kMirrorAnnotation).has_value();
  view.of_daemon = is_controlled_by_daemon_set(pod);
  return view;
}

}  // namespace strake::api
