// Runs a program again when it may succeed later: a registry that was away for a moment, another transaction at work.
#pragma once

#include <functional>

#include "base/program_runner.h"

namespace strake::osbackend {

/// Pauses of 10 s, 20 s, 40 s, then of a minute each: a node's own name server may restart in the middle of its update.
struct RetryPolicy {
  int attempts = 7;
  runtime::Duration first_pause = std::chrono::seconds(10);
  runtime::Duration longest_pause = std::chrono::seconds(60);
};

/// Its output. `is_passing` looks at the error of one attempt and says whether another may end better; an error that is
/// not passing, or the last, is the result. A program that is not installed is never tried again.
Result<std::string> output_retrying(ProgramRunner& programs, runtime::Runtime& runtime, const Command& command,
                                    const RetryPolicy& policy, const std::function<bool(const Error&)>& is_passing,
                                    const runtime::Call& call);

}  // namespace strake::osbackend
