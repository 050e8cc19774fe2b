// What is to be done for a node that asked to be drained or opened again: one look at it and its pods, one answer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/drain.h"
#include "base/runtime.h"

namespace strake::rollout {

enum class DrainStep {
  kNothing,
  kCordon,    ///< close the node to new pods; look again
  kEvict,     ///< ask the pods to leave, then wait
  kWait,      ///< all were asked
  kUncordon,  ///< open it; look again
  kEcho,      ///< say that it is done
  kRefuse,    ///< a word nobody knows
};
std::string_view to_string(DrainStep step);

struct DrainPlan {
  DrainStep step = DrainStep::kNothing;
  std::vector<api::PodView> evict{};    ///< of kEvict
  std::vector<api::PodView> leaving{};  ///< asked before, and still there
  std::string note{};                   ///< for people, where what is done is not what one might expect
};

/// `pods` are all pods of the node; not looked at unless it is closed and asks to be drained.
DrainPlan plan_drain(const api::DrainView& node, const std::vector<api::PodView>& pods);

/// Until a drain that goes on is looked at again: often at first, seldom when it takes long.
runtime::Duration drain_pause(runtime::Duration since_begin);
/// After these, people are told.
inline constexpr runtime::Duration kDrainSlowAfter = std::chrono::minutes(10);
inline constexpr runtime::Duration kDrainFailedAfter = std::chrono::hours(1);

}  // namespace strake::rollout
