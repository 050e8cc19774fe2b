// What `strake --help` and `strake VERB --help` print, made from the command table.
#pragma once

#include <span>
#include <string>

#include "cmd/cli/command.h"

namespace strake::cmd {

/// No line of help is wider; man pages and examples are held to the same.
inline constexpr std::size_t kHelpWidth = 100;

/// All verbs by group.
std::string program_help(std::span<const CommandSpec* const> commands, std::span<const VerbGroup> groups);
/// The verbs of one group: `strake release --help`.
std::string group_help(std::string_view group, std::span<const CommandSpec* const> commands,
                       std::span<const VerbGroup> groups);
std::string command_help(const CommandSpec& spec);

/// "strake release apply [OPTIONS] REF"
std::string usage_line(const CommandSpec& spec);

/// Paragraphs filled to the width; lines that begin with two blanks, and empty ones, stay.
std::string wrap_text(std::string_view text, std::size_t width);

/// How an option is written, with its value: "-o, --output FORMAT".
std::string option_words(const OptionSpec& option);
/// What the help says about it, default included.
std::string option_help(const OptionSpec& option);

}  // namespace strake::cmd
