#include "codec/json_locate.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "codec/json.h"

namespace strake::json {
namespace {

/// The paths asked for as a tree, so that the text is walked only where somebody wants to know.
struct Asked {
  std::map<std::string, Asked, std::less<>> steps;
  std::size_t value_offset = std::string_view::npos;
  std::size_t key_offset = std::string_view::npos;
};

/// Walks JSON known to be well-formed; recursion is bounded by the depth json::parse allowed.
class Walker {
 public:
  explicit Walker(std::string_view text) : text_(text) {}

  void value(Asked* asked) {
    skip_blanks();
    if (asked != nullptr) asked->value_offset = at_;
    switch (peek()) {
      case '{': object(asked); break;
      case '[': array(asked); break;
      case '"': string(); break;
      default:
        while (at_ < text_.size() && std::string_view(",]} \t\r\n").find(text_[at_]) == std::string_view::npos) ++at_;
    }
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }

  /// The raw text between the quotes.
  std::string_view string() {
    const std::size_t start = ++at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    const std::size_t end = std::min(at_, text_.size());
    ++at_;
    return text_.substr(start, end - start);
  }

  std::string key_text(std::string_view raw) const {
    if (raw.find('\\') == std::string_view::npos) return std::string(raw);
    const auto decoded = parse(fmt::format("\"{}\"", raw));
    return decoded.ok() && decoded->is_string() ? std::string(as_view(decoded->get_string())) : std::string(raw);
  }

  static Asked* child(Asked* asked, std::string_view step) {
    if (asked == nullptr) return nullptr;
    const auto found = asked->steps.find(step);
    return found == asked->steps.end() ? nullptr : &found->second;
  }

  void object(Asked* asked) {
    ++at_;
    for (skip_blanks(); at_ < text_.size() && peek() != '}'; skip_blanks()) {
      const std::size_t key_offset = at_;
      const std::string_view raw = string();
      Asked* const member = asked == nullptr || asked->steps.empty() ? nullptr : child(asked, key_text(raw));
      if (member != nullptr) member->key_offset = key_offset;
      skip_blanks();
      ++at_;  // the colon
      value(member);
      skip_blanks();
      if (peek() == ',') ++at_;
    }
    ++at_;
  }

  void array(Asked* asked) {
    ++at_;
    std::size_t index = 0;
    for (skip_blanks(); at_ < text_.size() && peek() != ']'; skip_blanks()) {
      value(asked == nullptr || asked->steps.empty() ? nullptr : child(asked, fmt::format("[{}]", index)));
      ++index;
      skip_blanks();
      if (peek() == ',') ++at_;
    }
    ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string path_text(const Steps& steps) {
  std::string text;
  for (const std::string& step : steps) {
    if (!text.empty() && !step.starts_with('[')) text += '.';
    text += step;
  }
  return text;
}

Steps parse_steps(std::string_view path) {
  Steps steps;
  while (!path.empty()) {
    if (path.starts_with('.')) {
      path.remove_prefix(1);
      continue;
    }
    const std::size_t end = path.starts_with('[') ? path.find(']') : path.find_first_of(".[");
    const std::size_t size = std::min(path.size(), path.starts_with('[') && end != path.npos ? end + 1 : end);
    steps.emplace_back(path.substr(0, size));
    path.remove_prefix(size);
  }
  return steps;
}

std::vector<codec::TextPosition> locate(std::string_view text, std::span<const Wanted> wanted) {
  Asked root;
  for (const Wanted& want : wanted) {
    Asked* here = &root;
    for (const std::string& step : want.steps) here = &here->steps[step];
  }
  Walker(text).value(&root);

  std::vector<std::size_t> offsets;
  for (const Wanted& want : wanted) {
    const Asked* here = &root;
    const Asked* deepest = &root;
    for (const std::string& step : want.steps) {
      here = &here->steps.find(step)->second;
      if (here->value_offset == std::string_view::npos) break;
      deepest = here;
    }
    const bool at_key = want.key && deepest->key_offset != std::string_view::npos;
    offsets.push_back(at_key ? deepest->key_offset : deepest->value_offset);
  }

  // Sorted, so that all lines are counted in one pass.
  std::vector<std::size_t> sorted = offsets;
  std::ranges::sort(sorted);
  std::unordered_map<std::size_t, codec::TextPosition> positions;
  std::size_t line = 1;
  // One walk: each byte is looked at once, also in a text without line breaks.
  std::size_t column = 1;
  std::size_t at = 0;
  std::size_t next_break = text.find('\n');
  for (const std::size_t offset : sorted) {
    for (; next_break < offset; next_break = text.find('\n', at)) {
      at = next_break + 1;
      ++line;
      column = 1;
    }
    column += codec::position_in(text.substr(at, offset - at), offset - at).column - 1;
    at = offset;
    positions[offset] = {line, column};
  }
  std::vector<codec::TextPosition> found;
  found.reserve(offsets.size());
  for (const std::size_t offset : offsets) found.push_back(positions[offset]);
  return found;
}

}  // namespace strake::json
