// The exit codes of every verb, and the one place where an error becomes one. docs/exit-codes.md is the table for
// people.
#pragma once

#include <string_view>

#include "base/error.h"

namespace strake::cmd {

/// What the verbs promise to scripts.
enum ExitCode : int {
  kExitOk = 0,
  kExitError = 1,          ///< usage errors too
  kExitDiffers = 2,        ///< "behind" or "differs", where the verb's help says so
  kExitBlocked = 3,        ///< something stands in the way or is absent; the message says what to do
  kExitUnreachable = 4,    ///< nobody answered
  kExitOwnKeyring = 5,     ///< trusted by the keyring it brings itself, and by nobody else's
  kExitNotGenuine = 6,     ///< refused: not the bytes promised, or not signed as demanded
  kExitInterrupted = 130,  ///< by SIGINT or SIGTERM
};

/// One line of a verb's list of exit codes.
struct ExitMeaning {
  ExitCode code;
  std::string_view meaning;
};

ExitCode exit_code_of(const Error& error);

}  // namespace strake::cmd
