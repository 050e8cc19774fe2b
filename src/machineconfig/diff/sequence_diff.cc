#include "machineconfig/diff/sequence_diff.h"

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>

namespace strake::machineconfig {

namespace {

using Ids = std::span<const std::uint32_t>;

/// Equal items get equal numbers, so that the search compares integers.
class Numbering {
 public:
  std::vector<std::uint32_t> ids_of(const std::vector<std::string_view>& items) {
    std::vector<std::uint32_t> ids;
    ids.reserve(items.size());
    for (const std::string_view item : items) {
      ids.push_back(numbers_.emplace(item, static_cast<std::uint32_t>(numbers_.size())).first->second);
    }
    return ids;
  }

 private:
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
};

/// For each number of edits d the furthest position in `before` on every diagonal -d, -d+2, ..., d. One flat array:
/// the row of d starts at d(d+1)/2 and has d+1 entries.
class FurthestReach {
 public:
  std::uint32_t& at(std::size_t d, std::ptrdiff_t diagonal) {
    const std::size_t column = static_cast<std::size_t>(diagonal + static_cast<std::ptrdiff_t>(d)) / 2;
    return reach_[d * (d + 1) / 2 + column];
  }
  void add_row(std::size_t d) { reach_.resize((d + 1) * (d + 2) / 2); }

 private:
  std::vector<std::uint32_t> reach_;
};

/// Whether the best path to `diagonal` in d edits adds (comes from the diagonal above) or removes.
bool comes_by_adding(FurthestReach& reach, std::size_t d, std::ptrdiff_t diagonal) {
  const auto edits = static_cast<std::ptrdiff_t>(d);
  if (diagonal == -edits) return true;
  if (diagonal == edits) return false;
  return reach.at(d - 1, diagonal - 1) < reach.at(d - 1, diagonal + 1);
}

std::vector<EditKind> walk_back(FurthestReach& reach, std::size_t edits, std::size_t old_size, std::size_t new_size) {
  std::vector<EditKind> kinds;
  std::size_t x = old_size, y = new_size;
  for (std::size_t d = edits; d > 0; --d) {
    const std::ptrdiff_t diagonal = static_cast<std::ptrdiff_t>(x) - static_cast<std::ptrdiff_t>(y);
    const bool added = comes_by_adding(reach, d, diagonal);
    const std::ptrdiff_t previous_diagonal = added ? diagonal + 1 : diagonal - 1;
    const std::size_t previous_x = reach.at(d - 1, previous_diagonal);
    const std::size_t start_x = added ? previous_x : previous_x + 1;
    for (; x > start_x; --x, --y) kinds.push_back(EditKind::kKeep);
    kinds.push_back(added ? EditKind::kAdd : EditKind::kRemove);
    x = previous_x;
    y = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(previous_x) - previous_diagonal);
  }
  kinds.insert(kinds.end(), x, EditKind::kKeep);
  std::reverse(kinds.begin(), kinds.end());
  return kinds;
}

/// nullopt when more than `max_edits` are needed.
std::optional<std::vector<EditKind>> shortest_edits(Ids before, Ids after, std::size_t max_edits) {
  FurthestReach reach;
  for (std::size_t d = 0; d <= max_edits; ++d) {
    reach.add_row(d);
    const auto edits = static_cast<std::ptrdiff_t>(d);
    for (std::ptrdiff_t diagonal = -edits; diagonal <= edits; diagonal += 2) {
      std::size_t x = 0;
      if (d > 0) {
        x = comes_by_adding(reach, d, diagonal) ? reach.at(d - 1, diagonal + 1) : reach.at(d - 1, diagonal - 1) + 1u;
      }
      // Beyond an edge nothing can be reached any more; the clamp keeps the table in range.
      x = std::min(x, before.size());
      const std::ptrdiff_t signed_y = static_cast<std::ptrdiff_t>(x) - diagonal;
      std::size_t y = signed_y < 0 ? 0 : static_cast<std::size_t>(signed_y);
      if (signed_y >= 0) {
        while (x < before.size() && y < after.size() && before[x] == after[y]) ++x, ++y;
      }
      reach.at(d, diagonal) = static_cast<std::uint32_t>(x);
      if (signed_y >= 0 && x == before.size() && y == after.size()) {
        return walk_back(reach, d, before.size(), after.size());
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<Edit> diff_sequences(const std::vector<std::string_view>& before,
                                 const std::vector<std::string_view>& after, std::size_t max_edits) {
  Numbering numbering;
  const std::vector<std::uint32_t> old_ids = numbering.ids_of(before), new_ids = numbering.ids_of(after);
  const std::size_t shorter = std::min(old_ids.size(), new_ids.size());
  std::size_t prefix = 0, suffix = 0;
  while (prefix < shorter && old_ids[prefix] == new_ids[prefix]) ++prefix;
  while (suffix < shorter - prefix && old_ids[old_ids.size() - 1 - suffix] == new_ids[new_ids.size() - 1 - suffix]) {
    ++suffix;
  }
  const Ids old_middle = Ids(old_ids).subspan(prefix, old_ids.size() - prefix - suffix);
  const Ids new_middle = Ids(new_ids).subspan(prefix, new_ids.size() - prefix - suffix);
  std::optional<std::vector<EditKind>> middle = shortest_edits(old_middle, new_middle, max_edits);
  if (!middle) {
    middle.emplace(old_middle.size(), EditKind::kRemove);
    middle->insert(middle->end(), new_middle.size(), EditKind::kAdd);
  }

  std::vector<Edit> edits;
  edits.reserve(prefix + middle->size() + suffix);
  std::size_t old_index = 0, new_index = 0;
  const auto add = [&](EditKind kind) {
    edits.push_back({kind, old_index, new_index});
    if (kind != EditKind::kAdd) ++old_index;
    if (kind != EditKind::kRemove) ++new_index;
  };
  for (std::size_t i = 0; i < prefix; ++i) add(EditKind::kKeep);
  for (const EditKind kind : *middle) add(kind);
  for (std::size_t i = 0; i < suffix; ++i) add(EditKind::kKeep);
  return edits;
}

}  // namespace strake::machineconfig
