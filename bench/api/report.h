// The table at the end: medians and ratios.
#pragma once

#include <string>
#include <vector>

#include "workload.h"

namespace strake::bench {

/// The runs of both servers, in the order of their rounds; every run has the same figures.
std::string comparison_table(const std::vector<std::vector<Figure>>& strake,
                             const std::vector<std::vector<Figure>>& kubernetes);

/// The medians of one server alone.
std::string median_list(const std::vector<std::vector<Figure>>& runs);

}  // namespace strake::bench
