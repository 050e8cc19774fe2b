// A set of objects that may not be in a cluster, and the MachineConfigs somebody will make of its KubeletConfigs,
// mirror sets and their like.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "machineconfig/render/render_set.h"

namespace strake::machineconfig {

/// The set with what Strake makes of them where it is the whole stack, except for what the set holds already. What
/// Strake refuses is an error.
Result<ConfigSet> with_generated(ConfigSet set, const std::string& version);

/// What a render of the set as it is leaves out, or has otherwise than Strake would make it: each a sentence.
std::vector<std::string> generated_notes(const ConfigSet& set, const std::string& version);

}  // namespace strake::machineconfig
