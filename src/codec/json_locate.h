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

/// "storage.files[2].path"; empty for no steps. For people: a name with a dot in it cannot be told from two.
std::string path_text(const Steps& steps);
/// The way back, for paths whose names have no dots.
Steps parse_steps(std::string_view path);

struct Wanted {
  Steps steps;
  bool key = false;  ///< the position of the last step's name, if it has one, instead of its value
};

/// One position each, in the order asked. A path that leads nowhere is found at its deepest step that exists. `text`
/// must have been accepted by json::parse; one pass over it answers all questions.
std::vector<codec::TextPosition> locate(std::string_view text, std::span<const Wanted> wanted);

}  // namespace strake::json
