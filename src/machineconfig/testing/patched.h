// Applies a unified diff, so that a test or a fuzz target can judge one.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strake::machineconfig::builders {

/// What `before` becomes under the hunks; nullopt when a hunk does not fit where it says it does.
inline std::optional<std::string> patched(std::string_view before, const std::vector<std::string>& hunks) {
  std::vector<std::string> old_lines;
  while (!before.empty()) {
    const std::size_t length = std::min(before.find('\n'), before.size() - 1) + 1;
    old_lines.emplace_back(before.substr(0, length));
    before.remove_prefix(length);
  }
  std::string result;
  std::size_t next = 0;
  for (std::size_t i = 0; i < hunks.size(); ++i) {
    const std::string_view line = hunks[i];
    if (line.starts_with("@@ -")) {
      std::size_t first = 0;
      const char* number = line.data() + 4;
      const auto parsed = std::from_chars(number, line.data() + line.size(), first);
      const bool is_empty = std::string_view(parsed.ptr).starts_with(",0 ");
      const std::size_t start = is_empty ? first : first - 1;
      if (start < next || start > old_lines.size()) return std::nullopt;
      while (next < start) result += old_lines[next++];
      continue;
    }
    if (line.starts_with('\\')) continue;
    const bool is_cut = i + 1 < hunks.size() && hunks[i + 1].starts_with('\\');
    const std::string text = std::string(line.substr(1)) + (is_cut ? "" : "\n");
    if (line.front() == '+') {
      result += text;
      continue;
    }
    if (next >= old_lines.size() || old_lines[next] != text) return std::nullopt;
    if (line.front() == ' ') result += text;
    ++next;
  }
  while (next < old_lines.size()) result += old_lines[next++];
  return result;
}

}  // namespace strake::machineconfig::builders
