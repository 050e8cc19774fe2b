#include "api/machine_set.h"

#include "api/kinds.h"

namespace strake::api {

namespace {

Field provider_spec_field(const MachineSetView& set) {
  return set.is_control_plane() ? kControlPlaneMachineSetFields
                                      ["spec.template.machines_v1beta1_machine_openshift_io.spec.providerSpec.value"]
                                : kMachineSetFields["spec.template.spec.providerSpec.value"];
}

}  // namespace

bool MachineSetView::is_control_plane() const {
  return find_field(object_, kControlPlaneMachineSetFields["spec.template.machines_v1beta1_machine_openshift_io"]) !=
         nullptr;
}

const json::Value* MachineSetView::provider_spec() const { return find_field(object_, provider_spec_field(*this)); }

std::string MachineSetView::provider_kind() const {
  const json::Value* spec = provider_spec();
  return spec == nullptr ? std::string{} : json::find_string(*spec, {"kind"}).value_or("");
}

bool MachineSetView::owned_by_machine_api() const {
  const auto machine_api = [](std::string_view authority) { return authority.empty() || authority == "MachineAPI"; };
  return machine_api(text_at(object_, kMachineSetFields["spec.authoritativeAPI"])) &&
         machine_api(text_at(object_, kMachineSetFields["status.authoritativeAPI"]));
}

std::vector<std::string> MachineSetView::machine_labels(std::string_view name) const {
  std::vector<std::string> values;
  const json::Value* machine = find_field(
      object_, is_control_plane() ? kControlPlaneMachineSetFields["spec.template.machines_v1beta1_machine_openshift_io"]
                                  : kMachineSetFields["spec.template"]);
  if (machine == nullptr) return values;
  // Metadata is the server's own: no schema declares its members.
  for (const auto& value : {json::find_string(*machine, {"metadata", "labels", name}),
                            json::find_string(*machine, {"spec", "metadata", "labels", name})}) {
    if (value) values.push_back(*value);
  }
  return values;
}

json::Value MachineSetView::provider_spec_patch(json::Value change) const {
  json::Value patch = json::Object{};
  set_field(patch, provider_spec_field(*this), std::move(change));
  return patch;
}

}  // namespace strake::api
