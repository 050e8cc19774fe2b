// The name of a rendered MachineConfig: a hash of its merged spec, equal byte for byte to the Machine Config
// Operator's.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/json.h"

namespace strake::machineconfig {

/// 32 hex digits over the seven spec fields. Metadata and versions do not count, so adopting a cluster renames nothing.
Result<std::string> spec_hash(const json::Value& spec);

/// "rendered-<pool>-<hash>"
Result<std::string> rendered_name(std::string_view pool, const json::Value& spec);

/// True when `name` ends in the hash of `spec`: the content is what the name promises.
Result<bool> name_matches_spec(std::string_view name, const json::Value& spec);

}  // namespace strake::machineconfig
