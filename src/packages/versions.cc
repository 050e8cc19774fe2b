#include "packages/versions.h"

#include <algorithm>
#include <compare>

#include "base/text.h"
#include "packages/packages.h"

namespace strake::packages {
namespace {

int sign(std::strong_ordering order) { return order < 0 ? -1 : order > 0 ? 1 : 0; }

template <typename Predicate>
std::string_view take_while(std::string_view& text, Predicate belongs) {
  const auto end = std::ranges::find_if_not(text, belongs);
  const std::string_view taken = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(taken.size());
  return taken;
}

bool either_starts_with(char mark, std::string_view left, std::string_view right) {
  return left.starts_with(mark) || right.starts_with(mark);
}

/// Letters before other signs, `~` before everything, even before the end.
int dpkg_rank(std::string_view text) {
  if (text.empty() || is_digit(text[0])) return 0;
  if (text[0] == '~') return -1;
  const int value = static_cast<unsigned char>(text[0]);
  return is_letter(text[0]) ? value : value + 256;
}

}  // namespace

int compare_decimal(std::string_view left, std::string_view right) {
  left.remove_prefix(std::min(left.find_first_not_of('0'), left.size()));
  right.remove_prefix(std::min(right.find_first_not_of('0'), right.size()));
  if (left.size() != right.size()) return left.size() < right.size() ? -1 : 1;
  return sign(left <=> right);
}

int compare_rpm_text(std::string_view left, std::string_view right) {
  const auto separates = [](char c) { return !is_digit(c) && !is_letter(c) && c != '~' && c != '^'; };
  while (!left.empty() || !right.empty()) {
    take_while(left, separates);
    take_while(right, separates);
    if (either_starts_with('~', left, right)) {
      if (!left.starts_with('~')) return 1;
      if (!right.starts_with('~')) return -1;
      left.remove_prefix(1), right.remove_prefix(1);
      continue;
    }
    if (either_starts_with('^', left, right)) {
      if (left.empty() || right.empty()) return left.empty() ? -1 : 1;
      if (!left.starts_with('^')) return 1;
      if (!right.starts_with('^')) return -1;
      left.remove_prefix(1), right.remove_prefix(1);
      continue;
    }
    if (left.empty() || right.empty()) break;
    const bool numbers = is_digit(left[0]);
    if (numbers != is_digit(right[0])) return numbers ? 1 : -1;
    const auto belongs = numbers ? is_digit : is_letter;
    const std::string_view left_part = take_while(left, belongs);
    const std::string_view right_part = take_while(right, belongs);
    const int order = numbers ? compare_decimal(left_part, right_part) : sign(left_part <=> right_part);
    if (order != 0) return order;
  }
  return static_cast<int>(!left.empty()) - static_cast<int>(!right.empty());
}

int compare_dpkg_text(std::string_view left, std::string_view right) {
  while (!left.empty() || !right.empty()) {
    while ((!left.empty() && !is_digit(left[0])) || (!right.empty() && !is_digit(right[0]))) {
      const int left_rank = dpkg_rank(left), right_rank = dpkg_rank(right);
      if (left_rank != right_rank) return left_rank < right_rank ? -1 : 1;
      left.remove_prefix(1), right.remove_prefix(1);
    }
    if (const int order = compare_decimal(take_while(left, is_digit), take_while(right, is_digit)); order != 0) {
      return order;
    }
  }
  return 0;
}

int compare_versions(PackageSystem system, const Package& left, const Package& right) {
  const auto compare_text = system == PackageSystem::kRpm ? compare_rpm_text : compare_dpkg_text;
  if (const int order = compare_decimal(left.epoch, right.epoch); order != 0) return order;
  if (const int order = compare_text(left.version, right.version); order != 0) return order;
  return compare_text(left.release, right.release);
}

}  // namespace strake::packages
