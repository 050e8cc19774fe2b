// Commands we suggest, in a form that can be pasted into a shell.
#pragma once

#include <string>
#include <string_view>

namespace strake::cmd {

/// As it is when a shell takes it so, else in single quotes.
std::string shell_word(std::string_view text);

/// How the program may be called again from another folder: by its name when it was found in PATH, else by its path.
std::string program_to_paste(std::string_view called);

}  // namespace strake::cmd
