// What changing a node from one rendered config to another will cost it, and why.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

namespace strake::machineconfig {

/// From cheap to dear. The thin line knows the two ends; reload, restart and drain find their place between them.
enum class DisruptionClass { kNone, kReboot };
std::string_view to_string(DisruptionClass disruption);
Result<DisruptionClass> parse_disruption_class(std::string_view text);

struct Consequence {
  DisruptionClass disruption = DisruptionClass::kNone;
  std::vector<std::string> reasons;  ///< each a short phrase: "kernel argument nosmt added"
};

/// Compares two rendered specs on their decoded contents. `from` is null for a node that has never been configured.
Result<Consequence> consequence_of(const json::Value* from, const json::Value& to);

}  // namespace strake::machineconfig
