#include "cmd/cli/exit_codes.h"

#include "base/verdict.h"

namespace strake::cmd {

ExitCode exit_code_of(const Error& error) {
  if (error.code() == Code::kCancelled) return kExitInterrupted;
  switch (verdict_of(error)) {
    case Verdict::kBlocked: return kExitBlocked;
    case Verdict::kUnreachable: return kExitUnreachable;
    case Verdict::kNotGenuine: return kExitNotGenuine;
    case Verdict::kNone: break;
  }
  return kExitError;
}

}  // namespace strake::cmd
