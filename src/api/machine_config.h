// MachineConfig: one piece of a machine's configuration, or the rendered whole.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/field.h"
#include "kube/object.h"

namespace strake::api {

inline constexpr FieldTable kMachineConfigFields{
    "machineconfigs.machineconfiguration.openshift.io",
    "spec.osImageURL",
    "spec.baseOSExtensionsContainerImage",
    "spec.config",
    "spec.kernelArguments",
    "spec.extensions",
    "spec.fips",
    "spec.kernelType",
};

/// Names of rendered configs start with this: "rendered-<pool>-<hash>".
inline constexpr std::string_view kRenderedPrefix = "rendered-";

/// The spec of a MachineConfig, or nullptr.
const json::Value* spec_of(const kube::Object& config);

/// Reads an object that outlives the view.
class MachineConfigView {
 public:
  explicit MachineConfigView(const json::Value& object) : object_(object) {}
  explicit MachineConfigView(const json::Value&&) = delete;

  std::string os_image_url() const { return text_at(object_, kMachineConfigFields["spec.osImageURL"]); }
  std::string extensions_image() const {
    return text_at(object_, kMachineConfigFields["spec.baseOSExtensionsContainerImage"]);
  }
  /// The Ignition config as written, or nullptr.
  const json::Value* config() const { return find_field(object_, kMachineConfigFields["spec.config"]); }
  /// spec.config.ignition.version, or "".
  std::string ignition_version() const;
  std::vector<std::string> kernel_arguments() const {
    return texts_at(object_, kMachineConfigFields["spec.kernelArguments"]);
  }
  std::vector<std::string> extensions() const { return texts_at(object_, kMachineConfigFields["spec.extensions"]); }
  bool fips() const { return flag_at(object_, kMachineConfigFields["spec.fips"]); }
  /// "", "default", "realtime" or "64k-pages".
  std::string kernel_type() const { return text_at(object_, kMachineConfigFields["spec.kernelType"]); }

 private:
  const json::Value& object_;
};

/// Writes in place; everything else of the object stays as it is.
class MachineConfigEdit : public MachineConfigView {
 public:
  explicit MachineConfigEdit(json::Value& object) : MachineConfigView(object), object_(object) {}

  void set_config(json::Value ignition);
  void set_os_image_url(std::string_view image);
  void set_kernel_arguments(std::span<const std::string> arguments);
  /// Every field as `spec` has it, and null where it has none: as a merge patch it leaves nothing of another spec.
  void set_whole_spec(const json::Value& spec);

 private:
  json::Value& object_;
};

}  // namespace strake::api
