#include "base/suggest.h"

#include <algorithm>
#include <vector>

#include <fmt/core.h>

namespace strake {

namespace {

/// Longer words are nobody's slip of a finger, and comparing them costs the product of both lengths.
constexpr std::size_t kLongestWord = 64;

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known) {
  std::string_view nearest;
  std::size_t best = kLongestWord;
  if (word.size() > kLongestWord) return nearest;
  for (const std::string_view candidate : known) {
    // A word begun and not finished is near, however much of it is missing.
    const bool begun = word.size() >= 2 && candidate.starts_with(word);
    const std::size_t distance = begun ? 1 : edit_distance(word, candidate);
    if (distance >= best || distance > std::max<std::size_t>(1, std::max(word.size(), candidate.size()) / 3)) continue;
    best = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
  const std::string_view nearest = nearest_word(word, known);
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

}  // namespace strake
