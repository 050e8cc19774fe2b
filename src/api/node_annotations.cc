#include "api/node_annotations.h"

namespace strake::api {

std::string_view to_string(NodeState state) {
  switch (state) {
    case NodeState::kDone: return "Done";
    case NodeState::kWorking: return "Working";
    case NodeState::kDegraded: return "Degraded";
    case NodeState::kUnreconcilable: return "Unreconcilable";
    case NodeState::kRebooting: return "Rebooting";
  }
  return "Degraded";
}

Result<NodeState> parse_node_state(std::string_view text) {
  for (const NodeState state : {NodeState::kDone, NodeState::kWorking, NodeState::kDegraded, NodeState::kUnreconcilable,
                                NodeState::kRebooting}) {
    if (text == to_string(state)) return state;
  }
  return error(Code::kInvalidArgument, "node state '{}' is not Done, Working, Degraded, Unreconcilable or Rebooting",
               text);
}

}  // namespace strake::api
