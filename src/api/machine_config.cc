#include "api/machine_config.h"

namespace strake::api {

const json::Value* spec_of(const kube::Object& config) { return json::find(config.json(), {"spec"}); }

std::string MachineConfigView::ignition_version() const {
  const json::Value* ignition = config();
  if (ignition == nullptr) return {};
  return json::find_string(*ignition, {"ignition", "version"}).value_or("");
}

void MachineConfigEdit::set_os_image_url(std::string_view url) {
  set_text(object_, kMachineConfigFields["spec.osImageURL"], url);
}

void MachineConfigEdit::set_extensions_image(std::string_view image) {
  set_text(object_, kMachineConfigFields["spec.baseOSExtensionsContainerImage"], image);
}

void MachineConfigEdit::set_config(json::Value ignition) {
  set_field(object_, kMachineConfigFields["spec.config"], std::move(ignition));
}

void MachineConfigEdit::set_kernel_arguments(std::span<const std::string> arguments) {
  set_field(object_, kMachineConfigFields["spec.kernelArguments"], to_json_list(arguments));
}

void MachineConfigEdit::set_extensions(std::span<const std::string> names) {
  set_field(object_, kMachineConfigFields["spec.extensions"], to_json_list(names));
}

void MachineConfigEdit::set_fips(bool fips) { set_field(object_, kMachineConfigFields["spec.fips"], fips); }

void MachineConfigEdit::set_kernel_type(std::string_view type) {
  set_text(object_, kMachineConfigFields["spec.kernelType"], type);
}

}  // namespace strake::api
