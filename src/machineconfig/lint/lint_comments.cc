#include "machineconfig/lint/lint_comments.h"

#include <algorithm>

#include "base/text.h"

namespace strake::machineconfig {

namespace {

constexpr std::string_view kIgnoreMark = "strake:ignore";

/// The rules a line's comment names; empty when it has no such comment.
std::vector<std::string> rules_silenced_by(std::string_view line) {
  for (std::size_t at = line.find(kIgnoreMark); at != std::string_view::npos; at = line.find(kIgnoreMark, at + 1)) {
    const std::string_view before = trimmed(line.substr(0, at));
    // "# strake:ignore": the sign begins the line or stands behind a blank, as YAML has it.
    if (!before.ends_with('#')) continue;
    if (before.size() > 1 && before[before.size() - 2] != ' ' && before[before.size() - 2] != '\t' &&
        before[before.size() - 2] != '#') {
      continue;
    }
    std::string_view rest = line.substr(at + kIgnoreMark.size());
    if (!rest.empty() && rest.front() != ' ' && rest.front() != '\t') continue;
    rest = trimmed(rest);
    // The list ends at the first blank that does not follow a comma.
    std::vector<std::string> rules;
    while (true) {
      const std::size_t end = rest.find_first_of(", \t");
      rules.emplace_back(rest.substr(0, end));
      if (end == std::string_view::npos) break;
      rest = trimmed(rest.substr(end));
      if (!rest.starts_with(',')) break;
      rest = trimmed(rest.substr(1));
    }
    return rules;
  }
  return {};
}

}  // namespace

LintComments::LintComments(std::string_view text) {
  if (text.find(kIgnoreMark) == std::string_view::npos) return;
  std::size_t number = 0;
  std::size_t block = 0;  // first line of the comments and blanks read last; 0 outside of any
  while (!text.empty()) {
    ++number;
    std::string_view line = text.substr(0, text.find_first_of("\r\n"));
    text.remove_prefix(line.size());
    text.remove_prefix(text.starts_with("\r\n") ? 2 : text.empty() ? 0 : 1);
    const std::string_view content = trimmed(line);
    const bool is_alone =
        content.empty() || content.starts_with('#') || content == "---" || content.starts_with("--- #");
    if (std::vector<std::string> rules = rules_silenced_by(line); !rules.empty() && comments_.size() < kMaxComments) {
      by_line_.emplace(number, comments_.size());
      comments_.push_back({number, std::move(rules), is_alone});
    }
    if (is_alone) {
      if (block == 0) block = number;
    } else {
      if (block != 0) comment_blocks_.emplace(number, block);
      block = 0;
    }
  }
}

bool LintComments::names(std::size_t line, std::string_view rule, bool alone) const {
  const auto found = by_line_.find(line);
  if (found == by_line_.end()) return false;
  const LintComment& comment = comments_[found->second];
  return (comment.is_alone || !alone) && std::ranges::find(comment.rules, rule) != comment.rules.end();
}

bool LintComments::silence(std::string_view rule, std::size_t line, std::size_t document_line) const {
  if (comments_.empty()) return false;
  if (names(line, rule, false)) return true;
  for (const std::size_t place : {line, document_line}) {
    const auto block = comment_blocks_.find(place);
    if (block == comment_blocks_.end()) continue;
    const auto first = by_line_.lower_bound(block->second);
    const auto last = by_line_.lower_bound(place);
    if (std::any_of(first, last, [&](const auto& entry) { return names(entry.first, rule, true); })) return true;
  }
  return false;
}

}  // namespace strake::machineconfig
