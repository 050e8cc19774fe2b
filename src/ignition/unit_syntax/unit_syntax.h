// The text of a systemd unit as systemd 252 reads it: what it refuses, and what it ignores with a warning. Our own
// reading, so that every machine answers alike, whether it has systemd or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ignition/report.h"

namespace strake::ignition {

struct UnitProblem {
  Severity severity = Severity::kWarning;  ///< an error: the unit is not loaded; a warning: the line is ignored
  std::size_t line = 0;                    ///< 1-based; 0 for the unit as a whole
  std::string message = {};                ///< quotes names of sections and keys, never values
  bool is_about_name = false;              ///< the unit is called otherwise than its path demands
};

enum class UnitPart : std::uint8_t {
  kWhole,
  kDropin,  ///< one file of several, so that nothing is missing from it
};

/// Problems in the order of lines; those of the unit as a whole last. `name` is the unit's, of a drop-in the one it
/// belongs to. Keys of which systemd knows many values (calendars, sizes, addresses) are not looked into.
std::vector<UnitProblem> check_unit_syntax(std::string_view name, std::string_view text,
                                           UnitPart part = UnitPart::kWhole);

}  // namespace strake::ignition
