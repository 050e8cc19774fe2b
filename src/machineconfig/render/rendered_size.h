// How large a rendered config is to the API it is sent to.
#pragma once

#include <cstddef>

#include "codec/json.h"

namespace strake::machineconfig {

/// Objects larger than this do not fit into the platform's API.
inline constexpr std::size_t kMaxRenderedBytes = 1572864;
/// From here on a warning is due.
inline constexpr std::size_t kLargeRenderedBytes = kMaxRenderedBytes / 10 * 8;

/// Bytes of the compact JSON that Go's encoder writes for a value: `<`, `>`, `&` and the separators U+2028 and U+2029
/// are escaped there, so what is counted is what the Machine Config Operator counts.
std::size_t go_json_size(const json::Value& value);

/// The same for a MachineConfig's spec, whose Ignition config an older encoder has written.
std::size_t spec_size(const json::Object& spec);

/// A rendered MachineConfig as the platform counts it: its metadata and this spec, without apiVersion and kind.
std::size_t rendered_size(const json::Value& machine_config, const json::Value& spec);

}  // namespace strake::machineconfig
