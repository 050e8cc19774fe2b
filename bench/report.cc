#include "report.h"

#include <fmt/format.h>

#include <algorithm>

namespace strake::bench {

namespace {

double median(const std::vector<std::vector<Figure>>& runs, std::size_t figure) {
  std::vector<double> values;
  for (const std::vector<Figure>& run : runs) values.push_back(run[figure].value);
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::string readable(double value) {
  if (value >= 100) return fmt::format("{:.0f}", value);
  return value >= 10 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

/// Rates are better when higher, all other figures when lower.
bool is_rate(const std::string& name) { return name.find("/s") != std::string::npos; }

}  // namespace

std::string comparison_table(const Measured& ours, const Measured& theirs) {
  std::string table =
      fmt::format("| what | {} | {} | the first is better by |\n|---|---:|---:|---:|\n", ours.name, theirs.name);
  for (std::size_t i = 0; i < ours.runs.front().size(); ++i) {
    const std::string& name = ours.runs.front()[i].name;
    const double left = median(ours.runs, i);
    const double right = median(theirs.runs, i);
    table += fmt::format("| {} | {} | {} | {:.2f}x |\n", name, readable(left), readable(right),
                         is_rate(name) ? left / right : right / left);
  }
  return table;
}

std::string median_list(const std::vector<std::vector<Figure>>& runs) {
  std::string list;
  for (std::size_t i = 0; i < runs.front().size(); ++i) {
    list += fmt::format("{:<50} {:>8}\n", runs.front()[i].name, readable(median(runs, i)));
  }
  return list;
}

}  // namespace strake::bench
