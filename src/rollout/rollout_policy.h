// The decisions of a rollout that keep a cluster safe, each replaceable: the simulation injects a mistake in the place
// of one and must notice.
#pragma once

#include <functional>
#include <string>

#include "api/node.h"
#include "codec/json.h"
#include "machineconfig/impact/disruption.h"

namespace strake::rollout {

/// True while the node uses up one unit of its pool's maxUnavailable: away for any reason, or being changed.
bool occupies_capacity(const api::NodeView& node);

/// Merge patch that targets a node: only our own annotations.
json::Value target_patch(const std::string& config, machineconfig::DisruptionClass planned);

struct RolloutPolicy {
  std::function<bool(const api::NodeView& node)> occupies_capacity = rollout::occupies_capacity;
  std::function<json::Value(const std::string& config, machineconfig::DisruptionClass planned)> target_patch =
      rollout::target_patch;
  /// What we wrote counts although the cache does not show it yet: without that a cache that lags behind our own last
  /// write would let one node too many go.
  bool counts_unseen_writes = true;
};

}  // namespace strake::rollout
