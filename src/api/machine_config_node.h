// MachineConfigNode: how far one node has come on the way to its desired configuration.
#pragma once

#include <string>

#include "api/field.h"

namespace strake::api {

inline constexpr FieldTable kMachineConfigNodeFields{
    "machineconfignodes.machineconfiguration.openshift.io",
    "spec.configVersion.desired",
    "status.configVersion.current",
    "status.configVersion.desired",
};

/// Reads an object that outlives the view.
class MachineConfigNodeView {
 public:
  explicit MachineConfigNodeView(const json::Value& object) : object_(object) {}
  explicit MachineConfigNodeView(const json::Value&&) = delete;

  std::string desired_config() const {
    return text_at(object_, kMachineConfigNodeFields["spec.configVersion.desired"]);
  }
  /// What the node runs, as its agent reported; "" before the first report.
  std::string current_config() const {
    return text_at(object_, kMachineConfigNodeFields["status.configVersion.current"]);
  }
  /// The target the agent has accepted.
  std::string accepted_config() const {
    return text_at(object_, kMachineConfigNodeFields["status.configVersion.desired"]);
  }

 private:
  const json::Value& object_;
};

}  // namespace strake::api
