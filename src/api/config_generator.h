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
    "spec.kubeletConfig",
    "spec.logLevel",
    "spec.autoSizingReserved",
    "spec.tlsSecurityProfile",
    "spec.systemGomaxprocsBehavior",
    "status.observedGeneration",
    "status.conditions",
    "status.conditions[].type",
    "status.conditions[].status",
    "status.conditions[].message",
};

inline constexpr FieldTable kContainerRuntimeConfigFields{
    "containerruntimeconfigs.machineconfiguration.openshift.io",
    "spec.machineConfigPoolSelector",
    "spec.containerRuntimeConfig",
    "status.observedGeneration",
    "status.conditions",
    "status.conditions[].type",
    "status.conditions[].status",
    "status.conditions[].message",
};

/// Reads an object of either kind that outlives the view; what both have is at the same paths.
class ConfigGeneratorView {
 public:
  explicit ConfigGeneratorView(const json::Value& object) : object_(object) {}
  explicit ConfigGeneratorView(const json::Value&&) = delete;

  /// A LabelSelector as written, or nullptr. An absent one matches nothing.
  const json::Value* pool_selector() const {
    return find_field(object_, kKubeletConfigFields["spec.machineConfigPoolSelector"]);
  }
  /// Of a ContainerRuntimeConfig, or nullptr.
  const json::Value* container_runtime_settings() const {
    return find_field(object_, kContainerRuntimeConfigFields["spec.containerRuntimeConfig"]);
  }
  /// Of a KubeletConfig: part of a KubeletConfiguration, or nullptr.
  const json::Value* kubelet_settings() const {
    return find_field(object_, kKubeletConfigFields["spec.kubeletConfig"]);
  }
  /// Of a KubeletConfig: what else it asks for; nullptr when absent.
  const json::Value* log_level() const { return find_field(object_, kKubeletConfigFields["spec.logLevel"]); }
  const json::Value* auto_sizing_reserved() const {
    return find_field(object_, kKubeletConfigFields["spec.autoSizingReserved"]);
  }
  const json::Value* tls_security_profile() const {
    return find_field(object_, kKubeletConfigFields["spec.tlsSecurityProfile"]);
  }
  const json::Value* gomaxprocs_behavior() const {
    return find_field(object_, kKubeletConfigFields["spec.systemGomaxprocsBehavior"]);
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
