// JSON values, parsing with limits, and deterministic writing. The one place Boost.JSON enters the code base.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "base/result.h"

namespace strake::json {

using Value = boost::json::value;
using Object = boost::json::object;
using Array = boost::json::array;
using String = boost::json::string;

struct ParseLimits {
  std::size_t max_bytes = 64u << 20;
  std::size_t max_depth = 100;
};

/// Parses exactly one JSON document. Errors carry line and column. Duplicate keys are refused.
Result<Value> parse(std::string_view text, const ParseLimits& limits = {});

/// Compact, members in their stored order.
std::string write(const Value& value);

/// Compact with object members sorted bytewise, recursively: equal values give equal bytes.
std::string write_canonical(const Value& value);

/// Two-space indentation, members in their stored order, final newline.
std::string write_pretty(const Value& value);

/// Walks object members; nullptr when a step is missing or not an object. find(v, {"spec", "config"}).
const Value* find(const Value& root, std::initializer_list<std::string_view> path);
Value* find(Value& root, std::initializer_list<std::string_view> path);

/// The string at `path`, or nullopt when absent or not a string.
std::optional<std::string> find_string(const Value& root, std::initializer_list<std::string_view> path);
std::optional<std::int64_t> find_int(const Value& root, std::initializer_list<std::string_view> path);
std::optional<bool> find_bool(const Value& root, std::initializer_list<std::string_view> path);

/// The value at `path`, creating objects on the way (replacing what is not an object).
Value& ensure(Value& root, std::initializer_list<std::string_view> path);

std::string_view as_view(const String& text);

/// "object", "array", "string", "integer", "number", "boolean" or "null": words for error messages.
std::string_view type_name(const Value& value);

}  // namespace strake::json
