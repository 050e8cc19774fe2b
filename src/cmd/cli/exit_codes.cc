#include "cmd/cli/exit_codes.h"

namespace strake::cmd {

ExitCode exit_code_of(const Error& error) {
  if (error.code() == Code::kCancelled) return kExitInterrupted;
  switch (error.verdict()) {
    case Verdict::kAbsent:
    case Verdict::kBlocked: return kExitBlocked;
    case Verdict::kUnreachable: return kExitUnreachable;
    case Verdict::kNotGenuine: return kExitNotGenuine;
    case Verdict::kNone: break;
  }
  return kExitError;
}

}  // namespace strake::cmd
