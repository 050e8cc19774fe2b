// The `strake` program, run as a user runs it.
#pragma once

#include <string>
#include <vector>

#include "base/subprocess.h"

namespace strake::test {

/// The program of the same build tree with these arguments, and time enough for any test.
Command strake_command(std::vector<std::string> arguments);

/// Runs it to its end; a failure to start is a failed expectation. Any exit code is fine.
ProcessOutput run_strake(std::vector<std::string> arguments, std::string stdin_bytes = "");

}  // namespace strake::test
