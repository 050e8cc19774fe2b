// KubeletConfig and ContainerRuntimeConfig: configs that a controller of the platform turns into MachineConfigs of the
// pools they select. The fields they share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/conditions.h"
#include "api/field.h"

namespace strake::api {

inline constexpr FieldTable kKubeletConfigFields{
    "kubeletconfigs.machineconfiguration.openshift.io",
    "spec.machineConfigPoolSelector",
    "status.observedGeneration",
    "status.conditions",
    "status.conditions[].type",
    "status.conditions[].status",
    "status.conditions[].message",
};

inline constexpr FieldTable kContainerRuntimeConfigFields{
    "containerruntimeconfigs.machineconfiguration.openshift.io",
    "spec.machineConfigPoolSelector",
    "status.observedGeneration",
    "status.conditions",
    "status.conditions[].type",
    "status.conditions[].status",
    "status.conditions[].message",
};

/// Reads an object of either kind that outlives the view; both tables have the same paths.
class ConfigGeneratorView {
 public:
  explicit ConfigGeneratorView(const json::Value& object) : object_(object) {}
  explicit ConfigGeneratorView(const json::Value&&) = delete;

  /// A LabelSelector as written, or nullptr. An absent one matches nothing.
  const json::Value* pool_selector() const {
    return find_field(object_, kKubeletConfigFields["spec.machineConfigPoolSelector"]);
  }
  std::int64_t observed_generation() const {
    return int_at(object_, kKubeletConfigFields["status.observedGeneration"]);
  }
  /// Conditions are appended, so the last one is the present one.
  std::optional<Condition> last_condition() const;
  /// The last condition says that the MachineConfigs were made.
  bool succeeded() const;

 private:
  const json::Value& object_;
};

}  // namespace strake::api
