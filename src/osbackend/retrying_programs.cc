#include "osbackend/retrying_programs.h"

#include <algorithm>

namespace strake::osbackend {

Result<std::string> output_retrying(ProgramRunner& programs, runtime::Runtime& runtime, const Command& command,
                                    const RetryPolicy& policy, const std::function<bool(const Error&)>& is_passing,
                                    const runtime::Call& call) {
  runtime::Duration pause = policy.first_pause;
  for (int attempt = 1;; ++attempt) {
    Result<std::string> output = programs.output_of(command, call);
    if (output.ok() || output.error().code() != Code::kIo || !is_passing(output.error())) return output;
    const bool time_is_up = call.deadline && runtime.now() + pause >= *call.deadline;
    if (attempt >= policy.attempts || time_is_up) {
      return Error(output.error()).context(fmt::format("after {} {}", attempt, attempt == 1 ? "attempt" : "attempts"));
    }
    STRAKE_CHECK_OK(runtime.sleep(pause, call.stop));
    pause = std::min(pause * 2, policy.longest_pause);
  }
}

}  // namespace strake::osbackend
