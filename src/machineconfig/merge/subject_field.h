// Where in a MachineConfig the things it is made of stand: the way from a subject back to the field that was written.
#pragma once

#include <string_view>

#include "codec/json_locate.h"
#include "kube/object.h"
#include "machineconfig/diff/subject.h"

namespace strake::machineconfig {

/// The steps of an Ignition member from the MachineConfig on: "storage.files" -> spec, config, storage, files.
json::Steps ignition_field(std::string_view member);

/// The steps to a subject in the MachineConfig as written, and to a member of it ("contents.source", "mode"). As deep
/// as it can be told: the list where the item is not in it. Whether the member is there is not looked at.
json::Steps field_of(const kube::Object& config, const Subject& subject, std::string_view member = {});

}  // namespace strake::machineconfig
