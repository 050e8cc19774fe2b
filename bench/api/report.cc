#include "report.h"

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

std::string comparison_table(const std::vector<std::vector<Figure>>& strake,
                             const std::vector<std::vector<Figure>>& kubernetes) {
  std::string table = "| what | strake up | kube-apiserver + etcd | strake is better by |\n|---|---:|---:|---:|\n";
  for (std::size_t i = 0; i < strake.front().size(); ++i) {
    const std::string& name = strake.front()[i].name;
    const double theirs = median(kubernetes, i);
    const double ours = median(strake, i);
    table += fmt::format("| {} | {} | {} | {:.1f}x |\n", name, readable(ours), readable(theirs),
                         is_rate(name) ? ours / theirs : theirs / ours);
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
