// From argv to a verb: parsing, help, suggestions for what nobody knows, and the exit code.
#pragma once

#include <span>

#include "base/signal_stop.h"
#include "cmd/cli/command.h"

namespace strake::cmd {

struct CommandTable {
  std::span<const CommandSpec* const> commands;
  std::span<const VerbGroup> groups;
};

/// The exit code. Everything the verb prints goes through `output`; errors are printed once, as "strake: ...".
/// A verb that is no daemon ends within a second of a signal.
int run_command_line(const CommandTable& table, std::span<const char* const> arguments, Output& output,
                     SignalStop& signals);

}  // namespace strake::cmd
