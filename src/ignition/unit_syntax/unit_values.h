// Single values of unit files, judged as systemd 252 judges them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ignition/unit_syntax/unit_keys.h"

namespace strake::ignition {

std::optional<bool> parse_unit_boolean(std::string_view value);
bool is_time_span(std::string_view value);

/// Words, with quotes and escapes taken off; nullopt when a quote is not closed.
std::optional<std::vector<std::string>> split_unit_words(std::string_view value);

struct ValueProblem {
  bool is_fatal = false;
  std::string_view what;
};

/// What is wrong with a value that stands for itself; commands are judged by command_problem.
std::optional<ValueProblem> value_problem(UnitValue type, std::string_view value);

/// A line that starts a program; `commands` is how many it holds.
std::optional<ValueProblem> command_problem(std::string_view value, std::size_t& commands);

}  // namespace strake::ignition
