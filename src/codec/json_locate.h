// Where in a JSON text the values at given paths stand, for errors about values of a text that parsed well.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/text_position.h"

namespace strake::json {

/// Member names, and list indices as "[2]".
using Steps = std::vector<std::string>;

struct Wanted {
  Steps steps;
  bool key = false;  ///< the position of the last step's name, if it has one, instead of its value
};

/// One position each, in the order asked. A path that leads nowhere is found at its deepest step that exists. `text`
/// must have been accepted by json::parse; one pass over it answers all questions.
std::vector<codec::TextPosition> locate(std::string_view text, std::span<const Wanted> wanted);

}  // namespace strake::json
