// maxUnavailable of a pool: how many of its nodes may be away at once.
#pragma once

#include "base/result.h"
#include "codec/json.h"

namespace strake::api {

/// nullptr or null: 1. A number: itself. "P%": that part of `node_count`, rounded down. 0 becomes 1, because
/// maxUnavailable is no way to stop a rollout; a negative number stays and leaves no room for any node.
/// A string that is not a whole number followed by "%" is an error.
Result<int> parse_max_unavailable(const json::Value* value, int node_count);

}  // namespace strake::api
