// Key files, as ostree keeps its settings and origins in them: sections in brackets, lines KEY=VALUE.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace strake::ostree {

/// The last value of a key in one section, blanks around it left out.
std::optional<std::string> key_file_value(std::string_view text, std::string_view section, std::string_view key);

}  // namespace strake::ostree
