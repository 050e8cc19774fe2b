// MachineConfigNode: how far one node has come on the way to its desired configuration.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "api/field.h"
#include "kube/object.h"

namespace strake::api {

inline constexpr FieldTable kMachineConfigNodeFields{
    "machineconfignodes.machineconfiguration.openshift.io",
    "spec.node.name",
    "spec.pool.name",
    "spec.configVersion.desired",
    "spec.configImage.desiredImage",
    "status.observedGeneration",
    "status.configVersion.current",
    "status.configVersion.desired",
    "status.configImage.currentImage",
    "status.configImage.desiredImage",
    "status.conditions[].type",
    "status.conditions[].status",
    "status.conditions[].reason",
    "status.conditions[].message",
    "status.conditions[].lastTransitionTime",
};

/// Stands for a pool or a config that is not known yet.
inline constexpr std::string_view kNotYetSet = "not-yet-set";

namespace node_condition {
inline constexpr std::string_view kUpdatePrepared = "UpdatePrepared";
inline constexpr std::string_view kUpdateExecuted = "UpdateExecuted";
inline constexpr std::string_view kUpdatePostActionComplete = "UpdatePostActionComplete";
inline constexpr std::string_view kUpdateComplete = "UpdateComplete";
inline constexpr std::string_view kResumed = "Resumed";
inline constexpr std::string_view kDrained = "Drained";
inline constexpr std::string_view kAppliedFilesAndOs = "AppliedFilesAndOS";
inline constexpr std::string_view kCordoned = "Cordoned";
inline constexpr std::string_view kRebootedNode = "RebootedNode";
inline constexpr std::string_view kUpdated = "Updated";
inline constexpr std::string_view kUncordoned = "Uncordoned";
inline constexpr std::string_view kNodeDegraded = "NodeDegraded";
inline constexpr std::string_view kPinnedImageSetsDegraded = "PinnedImageSetsDegraded";
inline constexpr std::string_view kPinnedImageSetsProgressing = "PinnedImageSetsProgressing";

/// All of them, in the order in which a new object gets them.
std::span<const std::string_view> all();
}  // namespace node_condition

/// Reads an object that outlives the view.
class MachineConfigNodeView {
 public:
  explicit MachineConfigNodeView(const json::Value& object) : object_(object) {}
  explicit MachineConfigNodeView(const json::Value&&) = delete;

  std::string node() const { return text_at(object_, kMachineConfigNodeFields["spec.node.name"]); }
  std::string pool() const { return text_at(object_, kMachineConfigNodeFields["spec.pool.name"]); }
  std::string desired_config() const {
    return text_at(object_, kMachineConfigNodeFields["spec.configVersion.desired"]);
  }
  std::string desired_image() const {
    return text_at(object_, kMachineConfigNodeFields["spec.configImage.desiredImage"]);
  }
  /// What the node runs, as its agent reported; "" before the first report.
  std::string current_config() const {
    return text_at(object_, kMachineConfigNodeFields["status.configVersion.current"]);
  }
  /// The target the agent has accepted.
  std::string accepted_config() const {
    return text_at(object_, kMachineConfigNodeFields["status.configVersion.desired"]);
  }
  std::string current_image() const {
    return text_at(object_, kMachineConfigNodeFields["status.configImage.currentImage"]);
  }
  std::string accepted_image() const {
    return text_at(object_, kMachineConfigNodeFields["status.configImage.desiredImage"]);
  }
  std::int64_t observed_generation() const {
    return int_at(object_, kMachineConfigNodeFields["status.observedGeneration"]);
  }

 private:
  const json::Value& object_;
};

/// Writes in place; everything else of the object stays as it is. An empty image or current config is removed, because
/// the schema allows no empty one. Conditions: set_condition(..., ConditionPlace::kSame).
class MachineConfigNodeEdit : public MachineConfigNodeView {
 public:
  explicit MachineConfigNodeEdit(json::Value& object) : MachineConfigNodeView(object), object_(object) {}

  void set_pool(std::string_view pool);
  void set_desired(std::string_view config, std::string_view image = {});
  /// `accepted_config` must not be empty: use kNotYetSet.
  void set_reported(std::string_view current_config, std::string_view accepted_config);
  void set_reported_images(std::string_view current_image, std::string_view accepted_image);
  void set_observed_generation(std::int64_t generation);

 private:
  void set_or_remove(Field field, std::string_view text);

  json::Value& object_;
};

/// A new object for a node, which owns it; pool and desired config are kNotYetSet.
kube::Object make_machine_config_node(std::string_view node_name, std::string_view node_uid);

}  // namespace strake::api
