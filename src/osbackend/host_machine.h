// What every backend of a real machine needs besides its own program: which boot this is, what the kernel was started
// with, and a way to restart.
#pragma once

#include <string>
#include <vector>

#include "base/file_tree.h"
#include "base/program_runner.h"

namespace strake::osbackend {

/// The kernel's own name for this boot.
Result<std::string> read_boot_id(FileTree& root);
/// What the running kernel was started with.
Result<std::vector<std::string>> read_running_arguments(FileTree& root);

/// Asks the machine's manager for a restart and returns. With something staged, it waits until that was written to the
/// boot loader: a manager that does not wait for it would boot the old system again.
Status restart_machine(ProgramRunner& programs, const std::string& reason, bool something_staged,
                       const runtime::Call& call);

}  // namespace strake::osbackend
