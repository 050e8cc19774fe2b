// MachineConfigs and pools for tests, from as little text as possible.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/object.h"
#include "machineconfig/validate.h"

namespace strake::machineconfig::builders {

/// Aborts on text that is not JSON: a test's own mistake.
json::Value from_text(std::string_view text);

kube::ObjectPtr shared(kube::Object object);

kube::Object machine_config(const std::string& name, const std::string& role, json::Value spec);
/// The same from the spec as JSON text.
kube::Object machine_config(const std::string& name, const std::string& role, const char* spec_text);

/// A pool with the uid "pool-uid" that takes the MachineConfigs of these roles.
kube::Object pool_of(const std::string& name, const std::vector<std::string>& roles);

/// A spec with one file of spec 3.2 whose contents are `data:,<contents>`.
json::Value file_spec(const std::string& path, const std::string& contents);

/// A spec with an Ignition config of spec 3.5: what is written behind its ignition section.
json::Value ignition_spec(std::string_view rest);

/// Aborts on a MachineConfig that cannot be read.
std::vector<Fragment> fragments_of(const std::vector<kube::Object>& configs);

}  // namespace strake::machineconfig::builders
