// What other programs print, taken apart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace strake::test {

using Lines = std::vector<std::string>;

/// What stands between the separators; nothing behind the last one.
inline Lines split(std::string_view text, char separator) {
  Lines parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return parts;
}

inline Lines lines_of(std::string_view text) { return split(text, '\n'); }

}  // namespace strake::test
