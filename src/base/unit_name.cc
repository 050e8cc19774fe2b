#include "base/unit_name.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace strake {

bool is_unit_name(std::string_view name) {
  constexpr std::size_t kLongestName = 255;
  constexpr std::string_view kSuffixes[] = {"service", "socket", "device", "mount",    "automount", "swap",
                                            "target",  "path",   "timer",  "snapshot", "slice",     "scope"};
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || name.size() > kLongestName) return false;
  const auto is_name_character = [](char c) {
    return is_alphanumeric(c) || std::string_view(":._\\@-").find(c) != std::string_view::npos;
  };
  return std::all_of(name.begin(), name.end(), is_name_character) &&
         std::find(std::begin(kSuffixes), std::end(kSuffixes), name.substr(dot + 1)) != std::end(kSuffixes);
}

std::string escaped_unit_path(std::string_view path) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string escaped;
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (!escaped.empty()) escaped += '-';
    for (const char c : part) {
      // A dot at the very beginning would hide the unit.
      if (is_alphanumeric(c) || c == ':' || c == '_' || (c == '.' && !escaped.empty())) {
        escaped += c;
      } else {
        const auto byte = static_cast<unsigned char>(c);
        escaped += "\\x";
        escaped += kHex[byte >> 4];
        escaped += kHex[byte & 15];
      }
    }
  }
  return escaped.empty() ? "-" : escaped;
}

}  // namespace strake
