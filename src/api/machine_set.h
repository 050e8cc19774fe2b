// MachineSet and ControlPlaneMachineSet: where the boot image of new machines is written. The platform's part
// (providerSpec.value) is free-form JSON; src/bootimage knows its shapes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/field.h"

namespace strake::api {

inline constexpr FieldTable kMachineSetFields{
    "machinesets.machine.openshift.io",      "spec.authoritativeAPI",   "spec.template",
    "spec.template.spec.providerSpec.value", "status.authoritativeAPI",
};

inline constexpr FieldTable kControlPlaneMachineSetFields{
    "controlplanemachinesets.machine.openshift.io",
    "spec.template.machines_v1beta1_machine_openshift_io",
    "spec.template.machines_v1beta1_machine_openshift_io.spec.providerSpec.value",
};

/// Reads an object of either kind; the shape of its template says which, because items of a typed list may come
/// without `kind`. The object outlives the view.
class MachineSetView {
 public:
  explicit MachineSetView(const json::Value& object) : object_(object) {}
  explicit MachineSetView(const json::Value&&) = delete;

  bool is_control_plane() const;
  /// The platform's machine description, or nullptr.
  const json::Value* provider_spec() const;
  /// Its `kind`, such as "AWSMachineProviderConfig"; "" when absent.
  std::string provider_kind() const;
  /// False when the Cluster API owns the set, or takes it over right now: then it must not be written.
  bool owned_by_machine_api() const;
  std::string wished_authority() const { return text_at(object_, kMachineSetFields["spec.authoritativeAPI"]); }
  std::string present_authority() const { return text_at(object_, kMachineSetFields["status.authoritativeAPI"]); }
  /// What a label says on the Machines and on the Nodes the set makes, as far as it is there.
  std::vector<std::string> machine_labels(std::string_view name) const;
  /// A merge patch of the set that makes one change to the platform's part.
  json::Value provider_spec_patch(json::Value change) const;

 private:
  const json::Value& object_;
};

}  // namespace strake::api
