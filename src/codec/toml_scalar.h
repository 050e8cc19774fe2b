// Plain TOML values: booleans, numbers, dates and times, from the characters between two delimiters.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "codec/json.h"

namespace strake::toml {

struct Scalar {
  json::Value value;
  std::string refusal;  ///< not empty: why the token is no value
};

Scalar resolve_scalar(std::string_view token);

/// "1979-05-27": a date, after which a blank may lead to a time instead of ending the value.
bool is_date(std::string_view token);

}  // namespace strake::toml
