// MachineConfiguration/cluster: which machine sets get new boot images, and what a change on a node calls for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/field.h"
#include "base/result.h"

namespace strake::api {

inline constexpr FieldTable kMachineConfigurationFields{
    "machineconfigurations.operator.openshift.io",
    "spec.managedBootImages.machineManagers",
    "spec.managedBootImages.machineManagers[].resource",
    "spec.managedBootImages.machineManagers[].apiGroup",
    "spec.managedBootImages.machineManagers[].selection.mode",
    "spec.managedBootImages.machineManagers[].selection.partial.machineResourceSelector",
    "spec.bootImageSkewEnforcement.mode",
    "spec.nodeDisruptionPolicy",
    "spec.irreconcilableValidationOverrides.storage",
    "status.observedGeneration",
    "status.managedBootImagesStatus.machineManagers",
    "status.bootImageSkewEnforcementStatus.mode",
    "status.nodeDisruptionPolicyStatus.clusterPolicies",
    "status.conditions[].type",
    "status.conditions[].status",
    "status.conditions[].reason",
    "status.conditions[].message",
    "status.conditions[].lastTransitionTime",
};

namespace boot_image_condition {
inline constexpr std::string_view kProgressing = "BootImageUpdateProgressing";
inline constexpr std::string_view kDegraded = "BootImageUpdateDegraded";
}  // namespace boot_image_condition

enum class SelectionMode { kAll, kPartial, kNone };
std::string_view to_string(SelectionMode mode);
Result<SelectionMode> parse_selection_mode(std::string_view text);

/// One entry of machineManagers: which sets of one resource take part in boot image updates.
struct MachineManager {
  std::string resource;   ///< "machinesets" or "controlplanemachinesets"
  std::string api_group;  ///< "machine.openshift.io"
  SelectionMode mode = SelectionMode::kNone;
  json::Value selector;  ///< a LabelSelector in mode kPartial, else null
};

/// Reads an object that outlives the view.
class MachineConfigurationView {
 public:
  explicit MachineConfigurationView(const json::Value& object) : object_(object) {}
  explicit MachineConfigurationView(const json::Value&&) = delete;

  /// nullopt: no opinion. An empty list: opted out of everything. kInvalidArgument: a mode nobody knows.
  Result<std::optional<std::vector<MachineManager>>> wished_managers() const;
  /// What is in effect.
  Result<std::optional<std::vector<MachineManager>>> effective_managers() const;

  /// "Manual", "None" or "" (no opinion).
  std::string wished_skew_mode() const {
    return text_at(object_, kMachineConfigurationFields["spec.bootImageSkewEnforcement.mode"]);
  }
  /// "Automatic", "Manual", "None" or "".
  std::string effective_skew_mode() const {
    return text_at(object_, kMachineConfigurationFields["status.bootImageSkewEnforcementStatus.mode"]);
  }
  /// {files, units, sshkey} as written, or nullptr.
  const json::Value* wished_disruption_policy() const {
    return find_field(object_, kMachineConfigurationFields["spec.nodeDisruptionPolicy"]);
  }
  /// The merged policy in effect, or nullptr.
  const json::Value* effective_disruption_policy() const {
    return find_field(object_, kMachineConfigurationFields["status.nodeDisruptionPolicyStatus.clusterPolicies"]);
  }
  /// Storage sections ("Disks", "FileSystems", "Raid") that may change although running nodes cannot follow.
  std::vector<std::string> irreconcilable_storage() const {
    return texts_at(object_, kMachineConfigurationFields["spec.irreconcilableValidationOverrides.storage"]);
  }
  std::int64_t observed_generation() const {
    return int_at(object_, kMachineConfigurationFields["status.observedGeneration"]);
  }

 private:
  const json::Value& object_;
};

}  // namespace strake::api
