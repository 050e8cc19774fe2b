#include "kube/patch.h"

#include "codec/json_patch.h"

namespace strake::kube {

std::optional<json::Value> own_fields_patch(const json::Value& observed, const json::Value& own) {
  if (!own.is_object()) {
    if (json::same_value(observed, own)) return std::nullopt;
    return own;
  }
  json::Object patch;
  const json::Object* present = observed.if_object();
  for (const auto& [name, wanted] : own.get_object()) {
    const json::Value* found = present == nullptr ? nullptr : present->if_contains(name);
    if (wanted.is_null()) {
      if (found != nullptr) patch[name] = nullptr;
    } else if (found == nullptr) {
      // Nothing to compare with, but an object of removals only would still create an empty object.
      json::Value cleaned = json::apply_merge_patch(json::Value(), wanted);
      if (!cleaned.is_object() || !cleaned.get_object().empty() || wanted.get_object().empty()) {
        patch[name] = std::move(cleaned);
      }
    } else if (wanted.is_object() && !found->is_object()) {
      patch[name] = json::apply_merge_patch(json::Value(), wanted);
    } else if (auto inner = own_fields_patch(*found, wanted)) {
      patch[name] = *std::move(inner);
    }
  }
  if (patch.empty()) return std::nullopt;
  return json::Value(std::move(patch));
}

Result<Object> merge_patch_own_fields(KubeApi& api, const Resource& resource, const Object& observed,
                                      const json::Value& own, IfChanged if_changed, const WriteOptions& options,
                                      const Call& call) {
  std::optional<json::Value> patch = own_fields_patch(observed.json(), own);
  if (!patch) return observed;
  if (if_changed == IfChanged::kRefuse) {
    json::ensure(*patch, {"metadata", "resourceVersion"}) = observed.resource_version();
  }
  return api.patch(resource, observed.key(), PatchType::kMerge, *patch, options, call)
      .context("updating {} {}", resource.qualified_name(), observed.key().to_string());
}

Result<Object> apply_status_patch(KubeApi& api, const Resource& resource, const Object& observed,
                                  const json::Value& own_status, IfChanged if_changed, const Call& call) {
  WriteOptions options;
  options.subresource = "status";
  return merge_patch_own_fields(api, resource, observed, json::Object{{"status", own_status}}, if_changed, options,
                                call)
      .context("writing status");
}

Status pause_after_conflict(runtime::Runtime& runtime, const Call& call) {
  // Everybody who lost the race comes back; not all at once.
  const auto delay = std::chrono::milliseconds(10 + runtime.random().below(40));
  if (call.deadline && runtime.now() + delay >= *call.deadline) {
    return error(Code::kTimeout, "no time left for another attempt");
  }
  return runtime.sleep(delay, call.stop);
}

}  // namespace strake::kube
