// What a clean build costs, counted instead of timed: the lines the compiler reads for each unit, from its dependency
// files.
//
// Compile time grows with what is read and instantiated, and a clock tells more about the machine than about the code.
// So the budget is in lines: a unit that suddenly reads a heavy header, and a tree of many small units that each read
// the same headers again, both fail the lint on every machine alike.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lint_rules.h"

namespace strake::lint {

struct CompileUnit {
  std::string object;
  std::vector<std::string> files;  ///< everything read for it, but for what a precompiled header holds
};

/// What `ninja -t deps` prints.
std::vector<CompileUnit> parse_ninja_deps(std::string_view text);

struct CompileBudget {
  std::size_t lines_per_unit = 260'000;  ///< Asio and Beast in one unit are 210,000
  std::size_t average_per_unit = 75'000;
};

/// `lines_of` answers 0 for files that are no text (precompiled headers). No unit at all is a finding: it would prove
/// nothing.
void check_compile_cost(const std::vector<CompileUnit>& units, const CompileBudget& budget,
                        const std::function<std::size_t(const std::string&)>& lines_of, std::vector<Finding>& findings);

}  // namespace strake::lint
