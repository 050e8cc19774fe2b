// Kubernetes quantities ("10k", "8Gi", "500m", "-1"): how much they come to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/json.h"

namespace strake::machineconfig {

/// Whole units, rounded away from zero, as the platform rounds; an error when it is no quantity or too large.
Result<std::int64_t> parse_quantity(std::string_view text);

/// A quantity as it stands in JSON: a string or an integer; "" of anything else.
std::string quantity_text(const json::Value& value);

}  // namespace strake::machineconfig
