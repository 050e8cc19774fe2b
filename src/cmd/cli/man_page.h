// Man pages, made from the command table: the same words as --help, in the language man reads.
#pragma once

#include <span>
#include <string>

#include "cmd/cli/command.h"

namespace strake::cmd {

/// "strake-release-apply.1"
std::string man_page_name(const CommandSpec& spec);
std::string man_page(const CommandSpec& spec);
/// strake.1: what there is.
std::string program_man_page(std::span<const CommandSpec* const> commands);

}  // namespace strake::cmd
