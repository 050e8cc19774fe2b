// Steps between spec versions, each on a checked config. convert() and parse() put them together.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "ignition/version.h"

namespace strake::ignition {

/// How a config of spec 2 becomes one of spec 3.
enum class RaiseFrom2 {
  kAsOperator,   ///< with the result the Machine Config Operator gets, its omissions included
  kWithoutLoss,  ///< order and meaning kept; what cannot be kept is refused by name
};

/// Spec 2.0 and 2.1 as 2.2: what they took for granted is written out.
json::Value lift_to_2_2(json::Value config, SpecVersion from);

/// What the Machine Config Operator does to a config of spec 2.2 before it raises it, because spec 3 has no duplicates:
/// of files with one path the last stays, of units with one name the last stays with the drop-ins of all, users must be
/// called core and become one. Files and units come out in reverse order.
Result<json::Value> merge_duplicates_as_operator(json::Value config);

/// Spec 2.2 as 3.0.
Result<json::Value> raise_to_3_0(const json::Value& config, RaiseFrom2 way);

/// Spec 3.x as a newer 3.x. Nothing is ever refused.
json::Value raise_spec3(json::Value config, SpecVersion from, SpecVersion to);

/// Writes out, in a config of spec 3, the modes it takes for granted: 0644 for files that are written whole, 0755 for
/// directories. Spec 2 takes a missing one for 0000. A file that is only appended to keeps the mode it has.
void write_default_modes(json::Value& config);

/// Spec 3.2 as 2.2.
Result<json::Value> lower_to_2_2(const json::Value& config);

/// A valid config of any version as spec 3.5.0, with the result the Machine Config Operator gets.
Result<json::Value> raise_as_operator(json::Value config, SpecVersion from);

/// The one error for everything a spec has no words for; ok when nothing is lost.
Status refuse_lost(SpecVersion to, std::vector<std::string> lost);

/// What the config's own version says against it, or does not know: what a translation into it has lost.
std::vector<std::string> lost_in(const json::Value& config);

}  // namespace strake::ignition
