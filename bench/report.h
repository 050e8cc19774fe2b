// The table at the end: medians and ratios.
#pragma once

#include <string>
#include <vector>

namespace strake::bench {

/// One figure of one run.
struct Figure {
  std::string name;
  double value = 0;
};

/// What a side is called, and its runs in the order of their rounds; every run has the same figures.
struct Measured {
  std::string name;
  const std::vector<std::vector<Figure>>& runs;
};
std::string comparison_table(const Measured& ours, const Measured& theirs);

/// The medians of one server alone.
std::string median_list(const std::vector<std::vector<Figure>>& runs);

}  // namespace strake::bench
