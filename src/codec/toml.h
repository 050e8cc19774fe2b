// TOML 1.0 in: what containers-registries.conf, CRI-O and bootc configurations are written in.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "codec/json.h"

namespace strake::toml {

struct ParseLimits {
  std::size_t max_bytes = 2u << 20;
  std::size_t max_depth = 100;  ///< tables, dotted keys and arrays inside each other
  std::size_t max_nodes = 200'000;
};

/// A document as a JSON object, members in the order they were first named. Dates and times are strings as written;
/// `inf` and `nan` have no JSON form and are refused. Errors name line and column.
Result<json::Value> parse(std::string_view text, const ParseLimits& limits = {});

}  // namespace strake::toml
