// TOML 1.0, in and out: what containers-registries.conf, CRI-O and bootc configurations are written in.
#pragma once

#include <cstddef>
#include <string>
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

/// The document as text: values first, then tables, each indented below the table it is in, as the container tools
/// write theirs. Members that are null are left out. What parse() read comes out as a text that reads the same, but for
/// dates, which are strings by then.
std::string emit(const json::Object& document);

}  // namespace strake::toml
