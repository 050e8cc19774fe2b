// The tables of Kubernetes' own kinds, whose cells are computed rather than looked up: what `kubectl get nodes` shows.
#pragma once

#include <chrono>
#include <span>
#include <string_view>

#include "codec/json.h"

namespace strake::apistore::rest {

using WallTime = std::chrono::system_clock::time_point;

struct BuiltinColumn {
  std::string_view name;
  std::string_view type;
  std::string_view format;
  std::int64_t priority;  ///< above 0: shown by `-o wide` only
  std::string_view description;
};

struct BuiltinTable {
  std::string_view name;  ///< the value of the annotation strake.dev/table
  std::span<const BuiltinColumn> columns;
  json::Array (*cells)(const json::Value& object, WallTime now);  ///< one for each column
  /// TableRow conditions, such as "this pod is done"; null when the kind has none.
  json::Array (*conditions)(const json::Value& object);
};

/// nullptr for a name that is not known.
const BuiltinTable* find_builtin_table(std::string_view name);

}  // namespace strake::apistore::rest
