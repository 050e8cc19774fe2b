#include "api/machine_config_node.h"

#include <array>

#include "api/kinds.h"

namespace strake::api {

std::span<const std::string_view> node_condition::all() {
  static constexpr std::array kAll{kUpdatePrepared,
                                   kUpdateExecuted,
                                   kUpdatePostActionComplete,
                                   kUpdateComplete,
                                   kResumed,
                                   kDrained,
                                   kAppliedFilesAndOs,
                                   kCordoned,
                                   kRebootedNode,
                                   kUpdated,
                                   kUncordoned,
                                   kNodeDegraded,
                                   kPinnedImageSetsDegraded,
                                   kPinnedImageSetsProgressing};
  return kAll;
}

void MachineConfigNodeEdit::set_or_remove(Field field, std::string_view text) {
  if (text.empty()) {
    remove_field(object_, field);
  } else {
    set_text(object_, field, text);
  }
}

void MachineConfigNodeEdit::set_pool(std::string_view pool) {
  set_text(object_, kMachineConfigNodeFields["spec.pool.name"], pool);
}

void MachineConfigNodeEdit::set_desired(std::string_view config, std::string_view image) {
  set_text(object_, kMachineConfigNodeFields["spec.configVersion.desired"], config);
  set_or_remove(kMachineConfigNodeFields["spec.configImage.desiredImage"], image);
}

void MachineConfigNodeEdit::set_reported(std::string_view current_config, std::string_view accepted_config) {
  set_or_remove(kMachineConfigNodeFields["status.configVersion.current"], current_config);
  set_text(object_, kMachineConfigNodeFields["status.configVersion.desired"], accepted_config);
}

void MachineConfigNodeEdit::set_reported_images(std::string_view current_image, std::string_view accepted_image) {
  set_or_remove(kMachineConfigNodeFields["status.configImage.currentImage"], current_image);
  set_or_remove(kMachineConfigNodeFields["status.configImage.desiredImage"], accepted_image);
}

void MachineConfigNodeEdit::set_observed_generation(std::int64_t generation) {
  set_field(object_, kMachineConfigNodeFields["status.observedGeneration"], generation);
}

kube::Object make_machine_config_node(std::string_view node_name, std::string_view node_uid) {
  kube::Object object(kMachineConfigNode, {"", std::string(node_name)});
  object.add_owner({kube::core::kNode.api_version(), kube::core::kNode.kind, std::string(node_name),
                    std::string(node_uid), false, false});
  set_text(object.json(), kMachineConfigNodeFields["spec.node.name"], node_name);
  MachineConfigNodeEdit edit(object.json());
  edit.set_pool(kNotYetSet);
  edit.set_desired(kNotYetSet);
  return object;
}

}  // namespace strake::api
