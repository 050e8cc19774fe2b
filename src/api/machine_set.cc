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
  return json::find_string(object_, {"kind"}) == kControlPlaneMachineSet.kind;
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

json::Value* MachineSetEdit::provider_spec() { return find_field(object_, provider_spec_field(*this)); }

}  // namespace strake::api
