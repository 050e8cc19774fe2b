#include "api/machine_config.h"

namespace strake::api {

const json::Value* spec_of(const kube::Object& config) { return json::find(config.json(), {"spec"}); }

std::string MachineConfigView::ignition_version() const {
  const json::Value* ignition = config();
  if (ignition == nullptr) return {};
  return json::find_string(*ignition, {"ignition", "version"}).value_or("");
}

void MachineConfigEdit::set_config(json::Value ignition) {
  set_field(object_, kMachineConfigFields["spec.config"], std::move(ignition));
}

void MachineConfigEdit::set_os_image_url(std::string_view image) {
  set_field(object_, kMachineConfigFields["spec.osImageURL"], json::Value(image));
}

void MachineConfigEdit::set_kernel_arguments(std::span<const std::string> arguments) {
  json::Array list;
  for (const std::string& argument : arguments) list.emplace_back(argument);
  set_field(object_, kMachineConfigFields["spec.kernelArguments"], std::move(list));
}

void MachineConfigEdit::set_whole_spec(const json::Value& spec) {
  const json::Value whole = json::Object{{"spec", spec}};
  const auto copy = [&](Field field) {
    const json::Value* value = find_field(whole, field);
    set_field(object_, field, value == nullptr ? json::Value() : *value);
  };
  copy(kMachineConfigFields["spec.config"]);
  copy(kMachineConfigFields["spec.kernelArguments"]);
  copy(kMachineConfigFields["spec.extensions"]);
  copy(kMachineConfigFields["spec.fips"]);
  copy(kMachineConfigFields["spec.kernelType"]);
  copy(kMachineConfigFields["spec.osImageURL"]);
  copy(kMachineConfigFields["spec.baseOSExtensionsContainerImage"]);
}

}  // namespace strake::api
