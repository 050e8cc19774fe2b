#include "rollout/node_view.h"

namespace strake::rollout {

// Alone in its file: the simulation links a planted mistake in its place and must notice.
bool occupies_capacity(const NodeView& node) { return !node.ready() || (!node.done() && !node.failing()); }

}  // namespace strake::rollout
