#include "machineconfig/diff/text_diff.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "codec/utf8.h"
#include "machineconfig/diff/sequence_diff.h"

namespace strake::machineconfig {

namespace {

/// Each with its line break, so that a last line without one differs from the same line with one.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t length = end == std::string_view::npos ? text.size() : end + 1;
    lines.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return lines;
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u; }

/// A line that is too long is shown from a little before the byte that matters, with the column of what is shown first.
std::string shown_around(std::string_view line, std::size_t matters, std::size_t max_bytes) {
  const std::size_t lead = max_bytes / 4;
  if (line.size() <= max_bytes || matters <= lead) return shortened(line, max_bytes);
  // The end of a line is shown with as much before it as there is room for.
  std::size_t from = std::min(matters - lead, line.size() - std::min(line.size(), max_bytes));
  while (from < line.size() && is_continuation(line[from])) ++from;
  const auto column = 1 + std::ranges::count_if(line.substr(0, from), [](char c) { return !is_continuation(c); });
  return fmt::format("... (from column {}) {}", column, shortened(line.substr(from), max_bytes));
}

class DetailLines {
 public:
  explicit DetailLines(const TextDiffLimits& limits) : limits_(limits) {}

  /// `matters`: where a line that is too long begins to be interesting.
  void add(std::string_view mark, std::string_view text, std::size_t matters = 0) {
    if (lines_.size() >= limits_.max_lines) {
      ++left_out_;
      return;
    }
    lines_.push_back(std::string(mark) + shown_around(text, matters, limits_.max_line_bytes));
  }
  std::vector<std::string> take() {
    if (left_out_ > 0) lines_.push_back(fmt::format("... {} more lines", left_out_));
    return std::move(lines_);
  }

 private:
  const TextDiffLimits& limits_;
  std::vector<std::string> lines_;
  std::size_t left_out_ = 0;
};

struct EditRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Changed stretches with their context; stretches whose contexts touch are one.
std::vector<EditRange> hunk_ranges(const std::vector<Edit>& edits, std::size_t context) {
  std::vector<EditRange> ranges;
  for (std::size_t i = 0; i < edits.size(); ++i) {
    if (edits[i].kind == EditKind::kKeep) continue;
    const std::size_t begin = i < context ? 0 : i - context;
    const std::size_t end = std::min(i + context + 1, edits.size());
    if (!ranges.empty() && begin <= ranges.back().end) {
      ranges.back().end = end;
    } else {
      ranges.push_back({begin, end});
    }
  }
  return ranges;
}

/// For each edit of the range the byte where its line differs from the one it stands against: the first line that goes
/// against the first that comes, and so on.
std::vector<std::size_t> first_differences(const std::vector<Edit>& edits, EditRange range,
                                           const std::vector<std::string_view>& old_lines,
                                           const std::vector<std::string_view>& new_lines) {
  std::vector<std::size_t> differences(range.end - range.begin, 0);
  for (std::size_t run = range.begin; run < range.end; ++run) {
    std::vector<std::size_t> going, coming;
    for (; run < range.end && edits[run].kind != EditKind::kKeep; ++run) {
      (edits[run].kind == EditKind::kRemove ? going : coming).push_back(run);
    }
    for (std::size_t i = 0; i < std::min(going.size(), coming.size()); ++i) {
      const std::string_view gone = old_lines[edits[going[i]].before], come = new_lines[edits[coming[i]].after];
      const auto parts = std::ranges::mismatch(gone, come);
      const auto at = static_cast<std::size_t>(parts.in1 - gone.begin());
      differences[going[i] - range.begin] = differences[coming[i] - range.begin] = at;
    }
  }
  return differences;
}

/// "3" for one line, "3,2" for two, "2,0" for none after line 2: the notation of unified diffs.
std::string line_range(std::size_t first_index, std::size_t count) {
  if (count == 1) return fmt::format("{}", first_index + 1);
  return fmt::format("{},{}", count == 0 ? first_index : first_index + 1, count);
}

void add_hunk(const std::vector<Edit>& edits, EditRange range, const std::vector<std::string_view>& old_lines,
              const std::vector<std::string_view>& new_lines, DetailLines& out) {
  std::size_t old_count = 0, new_count = 0;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    if (edits[i].kind != EditKind::kAdd) ++old_count;
    if (edits[i].kind != EditKind::kRemove) ++new_count;
  }
  out.add("", fmt::format("@@ -{} +{} @@", line_range(edits[range.begin].before, old_count),
                          line_range(edits[range.begin].after, new_count)));
  const std::vector<std::size_t> differences = first_differences(edits, range, old_lines, new_lines);
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const Edit& edit = edits[i];
    std::string_view line = edit.kind == EditKind::kAdd ? new_lines[edit.after] : old_lines[edit.before];
    const bool complete = line.ends_with('\n');
    if (complete) line.remove_suffix(1);
    out.add(edit.kind == EditKind::kKeep     ? " "
            : edit.kind == EditKind::kRemove ? "-"
                                             : "+",
            line, differences[i - range.begin]);
    if (!complete) out.add("", "\\ No newline at end of file");
  }
}

bool is_comment(std::string_view line) { return line.empty() || line.front() == '#' || line.front() == ';'; }

/// Sections and keys in the order they first appear; a key has as many values as it has assignments.
struct UnitSections {
  struct Key {
    std::string name;
    std::vector<std::string> values;
  };
  struct Section {
    std::string name;
    std::vector<Key> keys;
  };
  std::vector<Section> sections;
  std::map<std::string, std::size_t, std::less<>> section_index;
  std::map<std::pair<std::size_t, std::string>, std::size_t> key_index;

  std::size_t section(std::string_view name) {
    const auto [found, is_new] = section_index.emplace(name, sections.size());
    if (is_new) sections.push_back({std::string(name), {}});
    return found->second;
  }
  void add(std::size_t in_section, std::string_view key, std::string value) {
    const auto [found, is_new] =
        key_index.emplace(std::pair(in_section, std::string(key)), sections[in_section].keys.size());
    if (is_new) sections[in_section].keys.push_back({std::string(key), {}});
    sections[in_section].keys[found->second].values.push_back(std::move(value));
  }
  const std::vector<std::string>& values_of(std::string_view in_section, const std::string& key) const {
    static const std::vector<std::string> kNone;
    const auto known_section = section_index.find(in_section);
    if (known_section == section_index.end()) return kNone;
    const auto known_key = key_index.find({known_section->second, key});
    return known_key == key_index.end() ? kNone : sections[known_section->second].keys[known_key->second].values;
  }
};

UnitSections read_unit(std::string_view text) {
  UnitSections unit;
  std::size_t section = unit.section("");
  const std::vector<std::string_view> lines = lines_of(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = trimmed(lines[i]);
    if (is_comment(line)) continue;
    if (line.front() == '[' && line.back() == ']') {
      section = unit.section(line);
      continue;
    }
    const std::size_t equals = line.find('=');
    std::string value(equals == std::string_view::npos ? std::string_view() : trimmed(line.substr(equals + 1)));
    // A backslash at its end joins the next line; comments in between are skipped, as systemd does.
    while (value.ends_with('\\') && i + 1 < lines.size()) {
      const std::string_view next = trimmed(lines[++i]);
      if (!next.empty() && is_comment(next)) continue;
      value.back() = ' ';
      value += next;
    }
    unit.add(section, trimmed(line.substr(0, equals)), std::move(value));
  }
  return unit;
}

std::vector<std::string_view> views_of(const std::vector<std::string>& texts) { return {texts.begin(), texts.end()}; }

/// The changed values of one key, under its section's name the first time it is needed.
void add_key_changes(const std::string& section, bool& section_named, const std::string& key,
                     const std::vector<std::string>& before, const std::vector<std::string>& after, DetailLines& out) {
  if (before == after) return;
  if (!section_named && !section.empty()) out.add("", section);
  section_named = true;
  const std::vector<std::string_view> old_values = views_of(before), new_values = views_of(after);
  const std::vector<Edit> edits = diff_sequences(old_values, new_values);
  const auto differences = first_differences(edits, {0, edits.size()}, old_values, new_values);
  for (std::size_t i = 0; i < edits.size(); ++i) {
    const std::size_t matters = differences[i] + key.size() + 1;
    switch (edits[i].kind) {
      case EditKind::kKeep: break;
      case EditKind::kRemove: out.add("-", fmt::format("{}={}", key, old_values[edits[i].before]), matters); break;
      case EditKind::kAdd: out.add("+", fmt::format("{}={}", key, new_values[edits[i].after]), matters); break;
    }
  }
}

}  // namespace

std::string shortened(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  std::size_t cut = max_bytes;
  while (cut > 0 && is_continuation(text[cut])) --cut;
  return fmt::format("{}... ({} more bytes)", text.substr(0, cut), text.size() - cut);
}

bool is_text(std::string_view contents) {
  return contents.find('\0') == std::string_view::npos && codec::is_valid_utf8(contents);
}

bool is_unit_text(std::string_view text) {
  bool continues = false, has_section = false;
  for (const std::string_view whole : lines_of(text)) {
    const std::string_view line = trimmed(whole);
    const bool is_section = !line.empty() && line.front() == '[' && line.back() == ']';
    has_section = has_section || is_section;
    if (!continues && !is_comment(line) && !is_section && (!has_section || line.find('=') == std::string_view::npos)) {
      return false;
    }
    continues = line.ends_with('\\');
  }
  return has_section;
}

std::vector<std::string> unified_diff(std::string_view before, std::string_view after, const TextDiffLimits& limits) {
  const std::vector<std::string_view> old_lines = lines_of(before), new_lines = lines_of(after);
  const std::vector<Edit> edits = diff_sequences(old_lines, new_lines);
  DetailLines out(limits);
  for (const EditRange range : hunk_ranges(edits, limits.context)) add_hunk(edits, range, old_lines, new_lines, out);
  return out.take();
}

std::vector<std::string> unit_diff(std::string_view before, std::string_view after, const TextDiffLimits& limits) {
  if (before == after) return {};
  const UnitSections old_unit = read_unit(before), new_unit = read_unit(after);
  DetailLines out(limits);
  for (const UnitSections::Section& section : new_unit.sections) {
    bool named = false;
    for (const UnitSections::Key& key : section.keys) {
      add_key_changes(section.name, named, key.name, old_unit.values_of(section.name, key.name), key.values, out);
    }
    // What the section lost stands with what it has.
    const auto known = old_unit.section_index.find(section.name);
    if (known == old_unit.section_index.end()) continue;
    for (const UnitSections::Key& key : old_unit.sections[known->second].keys) {
      if (!new_unit.values_of(section.name, key.name).empty()) continue;
      add_key_changes(section.name, named, key.name, key.values, {}, out);
    }
  }
  for (const UnitSections::Section& section : old_unit.sections) {
    if (new_unit.section_index.contains(section.name)) continue;
    bool named = false;
    for (const UnitSections::Key& key : section.keys) {
      add_key_changes(section.name, named, key.name, key.values, {}, out);
    }
  }
  std::vector<std::string> lines = out.take();
  if (lines.empty()) lines.emplace_back("only comments, blank lines or the order of keys differ");
  return lines;
}

}  // namespace strake::machineconfig
