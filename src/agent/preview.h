// What an agent would do next, for people: the plan of `strake agent --dry-run`.
#pragma once

#include <optional>
#include <string>

#include "agent/plan.h"

namespace strake::agent {

struct Preview {
  NextStep next = NextStep::kNothing;
  Observation observed;
  std::optional<UpdatePlan> update;  ///< of kUpdate and kRetry
};

/// Lines; contents of files are never shown.
std::string to_text(const Preview& preview);

}  // namespace strake::agent
