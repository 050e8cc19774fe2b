#include "compile_cost.h"

#include <fmt/core.h>

namespace strake::lint {

std::vector<CompileUnit> parse_ninja_deps(std::string_view text) {
  std::vector<CompileUnit> units;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    constexpr std::string_view kIndent = "    ";
    if (line.starts_with(kIndent)) {
      if (!units.empty()) units.back().files.emplace_back(line.substr(kIndent.size()));
    } else if (const std::size_t mark = line.find(": #deps "); mark != std::string_view::npos) {
      units.push_back({std::string(line.substr(0, mark)), {}});
    }
  }
  return units;
}

void check_compile_cost(const std::vector<CompileUnit>& units, const CompileBudget& budget,
                        const std::function<std::size_t(const std::string&)>& lines_of,
                        std::vector<Finding>& findings) {
  if (units.empty()) {
    findings.push_back({"build", 0, "no compiled unit is known: build the tree first"});
    return;
  }
  std::size_t total = 0;
  for (const CompileUnit& unit : units) {
    std::size_t lines = 0;
    for (const std::string& file : unit.files) lines += lines_of(file);
    total += lines;
    if (lines > budget.lines_per_unit) {
      findings.push_back({unit.object, 0,
                          fmt::format("the compiler reads {} lines for it, {} is the budget: keep the heavy header in "
                                      "a small file of its own (ALONE)",
                                      lines, budget.lines_per_unit)});
    }
  }
  if (total / units.size() > budget.average_per_unit) {
    findings.push_back({"build", 0,
                        fmt::format("the compiler reads {} lines for each of {} units on average, {} is the budget: "
                                    "include less, or join small units",
                                    total / units.size(), units.size(), budget.average_per_unit)});
  }
}

}  // namespace strake::lint
