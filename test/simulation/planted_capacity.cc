// Planted mistake: a node that is being updated is forgotten in the count of those away.
#include "rollout/node_view.h"

namespace strake::rollout {

bool occupies_capacity(const NodeView& node) { return !node.ready(); }

}  // namespace strake::rollout
