#include "base/program_runner.h"

#include <algorithm>

namespace strake {

Result<std::string> ProgramRunner::output_of(const Command& command, const runtime::Call& call) {
  STRAKE_TRY(ProcessOutput output, run(command, call));
  STRAKE_CHECK_OK(check_exit(command, output));
  return std::move(output.stdout_bytes);
}

Result<ProcessOutput> SystemPrograms::run(const Command& command, const runtime::Call& call) {
  Command within = command;
  if (call.deadline) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*call.deadline - runtime_.now());
    if (left.count() <= 0) return error(Code::kTimeout, "no time was left to run {}", command.argv.front());
    within.timeout = std::min(left, command.timeout.value_or(left));
  }
  return strake::run(within, call.stop);
}

}  // namespace strake
