#include "rollout/trouble.h"

namespace strake::rollout {

std::string_view to_string(TroubleKind kind) {
  switch (kind) {
    case TroubleKind::kPaused: return "Paused";
    case TroubleKind::kNotRendered: return "NotRendered";
    case TroubleKind::kRenderWaits: return "RenderWaits";
    case TroubleKind::kRenderFailed: return "RenderFailed";
    case TroubleKind::kConfigsIgnored: return "ConfigsIgnored";
    case TroubleKind::kInvalidMaxUnavailable: return "InvalidMaxUnavailable";
    case TroubleKind::kInvalidNodeSelector: return "InvalidNodeSelector";
    case TroubleKind::kContestedNodes: return "ContestedNodes";
    case TroubleKind::kTargetMissing: return "TargetMissing";
    case TroubleKind::kTargetEdited: return "TargetEdited";
    case TroubleKind::kPolicyUnreadable: return "PolicyUnreadable";
    case TroubleKind::kNodesCannotFollow: return "NodesCannotFollow";
    case TroubleKind::kCannotWrite: return "CannotWrite";
  }
  return "Unknown";
}

bool stops_rollout(TroubleKind kind) {
  switch (kind) {
    case TroubleKind::kPaused:
    case TroubleKind::kNotRendered:
    case TroubleKind::kInvalidMaxUnavailable:
    case TroubleKind::kInvalidNodeSelector:
    case TroubleKind::kTargetMissing:
    case TroubleKind::kTargetEdited:
    case TroubleKind::kPolicyUnreadable:
    case TroubleKind::kCannotWrite: return true;
    case TroubleKind::kRenderWaits:
    case TroubleKind::kRenderFailed:
    case TroubleKind::kConfigsIgnored:
    case TroubleKind::kContestedNodes:
    case TroubleKind::kNodesCannotFollow: return false;
  }
  return true;
}

bool degrades_pool(TroubleKind kind) {
  switch (kind) {
    case TroubleKind::kPaused:
    case TroubleKind::kNotRendered:
    case TroubleKind::kRenderWaits:
    case TroubleKind::kConfigsIgnored: return false;
    case TroubleKind::kRenderFailed:
    case TroubleKind::kInvalidMaxUnavailable:
    case TroubleKind::kInvalidNodeSelector:
    case TroubleKind::kContestedNodes:
    case TroubleKind::kTargetMissing:
    case TroubleKind::kTargetEdited:
    case TroubleKind::kPolicyUnreadable:
    case TroubleKind::kNodesCannotFollow:
    case TroubleKind::kCannotWrite: return true;
  }
  return true;
}

bool denies_updated(TroubleKind kind) {
  switch (kind) {
    case TroubleKind::kNotRendered:
    case TroubleKind::kRenderFailed:
    case TroubleKind::kInvalidNodeSelector:
    case TroubleKind::kContestedNodes: return true;
    case TroubleKind::kPaused:
    case TroubleKind::kRenderWaits:
    case TroubleKind::kConfigsIgnored:
    case TroubleKind::kInvalidMaxUnavailable:
    case TroubleKind::kTargetMissing:
    case TroubleKind::kTargetEdited:
    case TroubleKind::kPolicyUnreadable:
    case TroubleKind::kNodesCannotFollow:
    case TroubleKind::kCannotWrite: return false;
  }
  return true;
}

}  // namespace strake::rollout
