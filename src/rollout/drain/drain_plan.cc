#include "rollout/drain/drain_plan.h"

namespace strake::rollout {

std::string_view to_string(DrainStep step) {
  switch (step) {
    case DrainStep::kNothing: return "nothing";
    case DrainStep::kCordon: return "cordon";
    case DrainStep::kEvict: return "evict";
    case DrainStep::kWait: return "wait";
    case DrainStep::kUncordon: return "uncordon";
    case DrainStep::kEcho: return "done";
    case DrainStep::kRefuse: return "refuse";
  }
  return "unknown";
}

DrainPlan plan_drain(const api::DrainView& node, const std::vector<api::PodView>& pods) {
  DrainPlan plan;
  switch (node.request()) {
    case api::DrainRequest::kNone: return plan;
    case api::DrainRequest::kUnknown:
      plan.step = DrainStep::kRefuse;
      plan.note = "the node asks for something that is neither drain nor uncordon";
      return plan;
    case api::DrainRequest::kUncordon:
      if (node.cordoned_by_us) {
        plan.step = DrainStep::kUncordon;
      } else {
        plan.step = DrainStep::kEcho;
        if (!node.schedulable) plan.note = "it stays closed to pods: somebody else closed it";
      }
      return plan;
    case api::DrainRequest::kDrain: break;
  }
  // Also when somebody opened it in the middle: pods that come now would be killed by the update.
  if (node.schedulable) {
    plan.step = DrainStep::kCordon;
    return plan;
  }
  for (const api::PodView& pod : pods) {
    if (!pod.has_to_leave()) continue;
    (pod.leaving ? plan.leaving : plan.evict).push_back(pod);
  }
  if (!plan.evict.empty()) {
    plan.step = DrainStep::kEvict;
  } else {
    plan.step = plan.leaving.empty() ? DrainStep::kEcho : DrainStep::kWait;
  }
  return plan;
}

runtime::Duration drain_pause(runtime::Duration since_begin) {
  if (since_begin < std::chrono::minutes(1)) return std::chrono::seconds(2);
  return since_begin < kDrainSlowAfter ? std::chrono::seconds(5) : std::chrono::seconds(30);
}

}  // namespace strake::rollout
