// Completion scripts for shells, made from the command table.
#pragma once

#include <span>
#include <string>

#include "cmd/cli/command.h"

namespace strake::cmd {

enum class Shell { kBash, kZsh, kFish };
inline constexpr std::string_view kShellWords[] = {"bash", "zsh", "fish"};

std::string completion_script(Shell shell, std::span<const CommandSpec* const> commands);

}  // namespace strake::cmd
