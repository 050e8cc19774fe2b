// MachineSet and ControlPlaneMachineSet: where the boot image of new machines is written. The platform's part
// (providerSpec.value) is free-form JSON; src/bootimage knows its shapes.
#pragma once

#include <string>
#include <string_view>

#include "api/field.h"

namespace strake::api {

inline constexpr FieldTable kMachineSetFields{
    "machinesets.machine.openshift.io",
    "spec.authoritativeAPI",
    "spec.template.spec.providerSpec.value",
    "status.authoritativeAPI",
};

inline constexpr FieldTable kControlPlaneMachineSetFields{
    "controlplanemachinesets.machine.openshift.io",
    "spec.template.machines_v1beta1_machine_openshift_io.spec.providerSpec.value",
};

/// Reads an object of either kind; its `kind` member says which. The object outlives the view.
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

 private:
  const json::Value& object_;
};

/// Gives access to the platform's part for editing in place.
class MachineSetEdit : public MachineSetView {
 public:
  explicit MachineSetEdit(json::Value& object) : MachineSetView(object), object_(object) {}

  using MachineSetView::provider_spec;
  /// nullptr when absent: a machine set without one is not ours to complete.
  json::Value* provider_spec();

 private:
  json::Value& object_;
};

}  // namespace strake::api
