// What `strake diff` found, before any of it is printed: for people, for scripts, and for a comment on a pull request.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/output/node_cost.h"
#include "codec/json.h"
#include "machineconfig/diff/set_diff.h"
#include "machineconfig/diff/spec_diff.h"

namespace strake::cmd {

inline constexpr std::string_view kConfigDifferenceKind = "ConfigDifference";

/// What nodes may have to bear before a difference counts as one.
enum class FailOn { kAny, kDrain, kReboot, kIrreconcilable };
inline constexpr std::string_view kFailOnWords[] = {"any", "drain", "reboot", "irreconcilable"};

struct ConfigDifference {
  std::vector<machineconfig::SetChange> set_changes = {};
  std::vector<std::pair<std::string, machineconfig::SpecDiff>> pools = {};  ///< "": two configs taken as they stand
  std::optional<ClusterCost> cost = {};                                     ///< where a cluster was asked

  bool differs() const;
  bool reaches(FailOn wanted) const;

  json::Value json(json::Array unused) const;
  std::string text() const;
  /// A table, and behind it everything between fences that nothing in it can close.
  std::string markdown() const;
};

}  // namespace strake::cmd
