// The other side of the comparison: the operator's libraries (test/servers/tools/render) doing the same work.
#pragma once

#include <optional>
#include <vector>

#include "kube/object.h"
#include "render/workload.h"

namespace strake::bench {

struct OperatorRun {
  double cpu_seconds = 0;  ///< of one render, garbage collection included
  std::string hash;        ///< of the rendered name; both sides must agree
};

/// From MachineConfigs in memory, their Ignition configs as raw JSON, to the hash.
Result<OperatorRun> time_operator_libraries(const std::vector<kube::ObjectPtr>& configs);

/// CPU seconds of one render by the Machine Config Operator's own code, measured elsewhere on two such cores; these
/// figures are quoted, not measured here.
std::optional<double> quoted_operator_seconds(const Shape& shape);

}  // namespace strake::bench
