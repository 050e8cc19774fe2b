// A YAML scalar where its type is known, read as gopkg.in/yaml.v3 reads it into a typed field.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "codec/yaml_node.h"

namespace strake::ignition {

/// nullopt where yaml.v3 fails. Besides true and false also yes, no, on, off, y and n, quoted or not.
std::optional<bool> as_bool(const yaml::Node& scalar);

/// nullopt where yaml.v3 fails. 0644 and 0o644 are octal, 0x and 0b as usual; 1.5 is 1.
std::optional<std::int64_t> as_integer(const yaml::Node& scalar);

}  // namespace strake::ignition
