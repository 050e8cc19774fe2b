#include "api/max_unavailable.h"

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace strake::api {

namespace {

std::optional<std::int32_t> whole_number(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  std::int32_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Rounded down, also below zero.
std::int64_t part_of(std::int64_t percent, std::int64_t count) {
  const std::int64_t hundredfold = percent * count;
  return hundredfold / 100 - (hundredfold % 100 < 0 ? 1 : 0);
}

Result<std::int64_t> read_limit(const json::Value& value, int node_count) {
  if (value.is_number()) {
    boost::json::error_code not_integral;
    const auto number = value.to_number<std::int32_t>(not_integral);
    if (not_integral) {
      return error(Code::kInvalidArgument, "spec.maxUnavailable is {}, which is not a whole number of nodes",
                   json::write(value));
    }
    return std::int64_t{number};
  }
  if (const json::String* text = value.if_string()) {
    std::string_view percent = json::as_view(*text);
    if (percent.ends_with('%')) {
      percent.remove_suffix(1);
      if (const auto number = whole_number(percent)) return part_of(*number, node_count);
    }
    return error(Code::kInvalidArgument,
                 "spec.maxUnavailable is \"{}\": write a number without quotes, or a percentage such as \"10%\"",
                 json::as_view(*text));
  }
  return error(Code::kInvalidArgument, "spec.maxUnavailable is {}: write a number, or a percentage such as \"10%\"",
               json::type_name(value));
}

}  // namespace

Result<int> parse_max_unavailable(const json::Value* value, int node_count) {
  if (value == nullptr || value->is_null()) return 1;
  STRAKE_TRY(const std::int64_t limit, read_limit(*value, node_count));
  if (limit == 0) return 1;
  if (limit > std::numeric_limits<int>::max() || limit < std::numeric_limits<int>::min()) {
    return error(Code::kInvalidArgument, "spec.maxUnavailable means {} nodes, which is out of range", limit);
  }
  return static_cast<int>(limit);
}

}  // namespace strake::api
