// The text of a systemd unit, read as Ignition's validator reads it, limits included.
#pragma once

#include <string_view>

#include "base/result.h"

namespace strake::ignition {

struct UnitText {
  bool has_option = false;
  bool has_install_option = false;  ///< at least one option in a section [Install]
};

/// Errors are in the words of Ignition's validator.
Result<UnitText> parse_unit_text(std::string_view text);

}  // namespace strake::ignition
