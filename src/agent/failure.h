// What the agent tells the program around it: that it failed, at what, for the how-manieth time, and when it tries
// again.
#pragma once

#include <functional>
#include <string_view>

#include "base/error.h"
#include "base/progress.h"
#include "base/runtime.h"

namespace strake::agent {

/// What the agent is at. The names are stable: they are labels of log lines and metrics.
enum class Doing {
  kReadingNode,
  kReadingConfig,
  kLookingAtMachine,
  kPlanning,
  kApplying,
  kChecking,  ///< whether a config that was applied is in place
  kReporting,
};
std::string_view to_string(Doing doing);

struct Failure {
  Doing doing;
  Error error;
  unsigned in_a_row;  ///< 1 for the first
  runtime::Duration next_try;
};

/// The other side's trouble, not this node's: tried again without telling the world that the node is degraded.
/// A right to read a config that has not reached every server yet is theirs too, for some tries.
bool is_api_trouble(Doing doing, Code code, unsigned in_a_row);

struct AgentHooks {
  std::function<void(const Failure&)> on_failure;
  /// Everything is as it should be. Said at every such round, because the failures before it may have been those of an
  /// agent that ended with the boot that healed them.
  std::function<void()> on_well;
  /// A step of an update is about to be run.
  std::function<void(const std::string& step)> on_step;
  /// How far a long step has come.
  ProgressSink on_progress;
};

}  // namespace strake::agent
