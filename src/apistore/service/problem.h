// What went wrong behind the API server, where nobody waits for an answer: for a log, a metric and a condition.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "apistore/store/store_health.h"
#include "base/result.h"

namespace strake::apistore {

struct Problem {
  std::string part;  ///< which task: "garbage collector", "budget status", "store sweeper", "store check", "store",
                     ///< "certificate renewal", "credential check", "audit log"; few, fit for a metric's label
  Error error;       ///< what to do is in its message
  std::optional<StoreDamage> damage;  ///< of the part "store": file and page
};

/// Called by any task, several at once; must not wait, and must not call the service.
using ProblemHook = std::function<void(const Problem&)>;

}  // namespace strake::apistore
