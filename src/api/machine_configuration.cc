#include "api/machine_configuration.h"

namespace strake::api {

namespace {

using Managers = std::optional<std::vector<MachineManager>>;

Result<Managers> managers_at(const json::Value& object, Field field) {
  const json::Value* list = find_field(object, field);
  if (list == nullptr || !list->is_array()) return Managers{};
  std::vector<MachineManager> managers;
  for (const json::Value& item : list->get_array()) {
    MachineManager manager;
    manager.resource =
        item_text_at(item, kMachineConfigurationFields["spec.managedBootImages.machineManagers[].resource"]);
    manager.api_group =
        item_text_at(item, kMachineConfigurationFields["spec.managedBootImages.machineManagers[].apiGroup"]);
    STRAKE_TRY_CONTEXT(
        manager.mode,
        parse_selection_mode(
            item_text_at(item, kMachineConfigurationFields["spec.managedBootImages.machineManagers[].selection.mode"])),
        "MachineConfiguration cluster, {}[{}]", field.path(), managers.size());
    if (const json::Value* selector = json::find(item, {"selection", "partial", "machineResourceSelector"})) {
      manager.selector = *selector;
    }
    managers.push_back(std::move(manager));
  }
  return Managers{std::move(managers)};
}

}  // namespace

std::string_view to_string(SelectionMode mode) {
  switch (mode) {
    case SelectionMode::kAll: return "All";
    case SelectionMode::kPartial: return "Partial";
    case SelectionMode::kNone: return "None";
  }
  return "None";
}

Result<SelectionMode> parse_selection_mode(std::string_view text) {
  for (const SelectionMode mode : {SelectionMode::kAll, SelectionMode::kPartial, SelectionMode::kNone}) {
    if (text == to_string(mode)) return mode;
  }
  return error(Code::kInvalidArgument, "selection mode '{}' is not All, Partial or None", text);
}

Result<Managers> MachineConfigurationView::wished_managers() const {
  return managers_at(object_, kMachineConfigurationFields["spec.managedBootImages.machineManagers"]);
}

Result<Managers> MachineConfigurationView::effective_managers() const {
  return managers_at(object_, kMachineConfigurationFields["status.managedBootImagesStatus.machineManagers"]);
}

}  // namespace strake::api
