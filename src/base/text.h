// Small questions about text, asked everywhere: blanks at the ends, names in a list.
#pragma once

#include <string>
#include <string_view>

namespace strake {

/// What a line or a value is without blanks, tabs and line ends around it.
std::string_view trimmed(std::string_view text);

/// The keys of a map as "a, b, c" for messages, "none" when there is nothing.
template <typename Map>
std::string names_in(const Map& map) {
  std::string text;
  for (const auto& [name, value] : map) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

}  // namespace strake
