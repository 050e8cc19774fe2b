// Making a stub of spec 2 one of spec 3, with the least change: what is not about the version stays as it is written.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "ignition/version.h"

namespace strake::stub {

struct Converted {
  std::string text;      ///< compact JSON, members in the order they had
  bool changed = false;  ///< false: it was of a new enough spec already
  ignition::SpecVersion from;
};

/// The result is checked: it is a valid config of `to`, points where the old one points and trusts whom it trusts. What
/// spec 3 has no words for (networkd units, file systems other than root, ...) is refused by name. A config that has
/// more than a pointer is converted as a whole.
Result<Converted> convert_stub(std::string_view bytes, ignition::SpecVersion to);

}  // namespace strake::stub
