#include "osimage/path_pattern.h"

#include <algorithm>

#include "base/text.h"

namespace strake::osimage {

namespace {

constexpr std::string_view kAnyFolders = "**";

std::size_t byte_of(char character) { return static_cast<unsigned char>(character); }

/// A character of several bytes is one.
std::size_t character_bytes(std::string_view name) {
  std::size_t size = 1;
  while (size < name.size() && (byte_of(name[size]) & 0xc0) == 0x80) ++size;
  return size;
}

}  // namespace

bool looks_like_pattern(std::string_view text) { return text.find_first_of("*?[\\") != std::string_view::npos; }

std::size_t NamePattern::Token::taken_from(std::string_view name) const {
  if (kind == Kind::kAnyOne) return character_bytes(name);
  return characters.test(byte_of(name.front())) ? 1 : 0;
}

void NamePattern::add_one(char character) {
  Token token;
  token.characters.set(byte_of(character));
  tokens_.push_back(token);
}

bool NamePattern::add_set(std::string_view& text) {
  // The bracket that closes may not be the first character, which is then one of the set.
  const bool negated = text.size() > 1 && (text[1] == '!' || text[1] == '^');
  const std::size_t begin = negated ? 2 : 1;
  const std::size_t end = text.find(']', begin + 1);
  if (end == std::string_view::npos) return false;
  Token token;
  for (std::size_t i = begin; i < end; ++i) {
    const std::size_t first = byte_of(text[i]);
    const bool range = i + 2 < end && text[i + 1] == '-';
    const std::size_t last = range ? byte_of(text[i + 2]) : first;
    for (std::size_t character = first; character <= last; ++character) token.characters.set(character);
    if (range) i += 2;
  }
  if (negated) token.characters.flip();
  tokens_.push_back(token);
  text.remove_prefix(end + 1);
  return true;
}

NamePattern::NamePattern(std::string_view text) : any_folders_(text == kAnyFolders) {
  bool is_literal = true;
  while (!text.empty()) {
    const char character = text.front();
    if (character == '[' && add_set(text)) {
      is_literal = false;
      continue;
    }
    if (character == '\\' && text.size() > 1) text.remove_prefix(1);
    const bool taken_as_is = character != '*' && character != '?';
    if (taken_as_is) {
      add_one(text.front());
      literal_ += text.front();
    } else if (character == '?') {
      tokens_.push_back({Token::Kind::kAnyOne});
    } else if (tokens_.empty() || tokens_.back().kind != Token::Kind::kAnyNumber) {
      tokens_.push_back({Token::Kind::kAnyNumber});
    }
    is_literal = is_literal && taken_as_is;
    text.remove_prefix(1);
  }
  if (!is_literal) literal_.clear();
}

bool NamePattern::matches(std::string_view name) const {
  // When something does not fit, only the last "*" has to take one character more: earlier ones need not be tried
  // again.
  std::size_t token = 0;
  std::size_t at = 0;
  std::size_t behind_star = std::string_view::npos;
  std::size_t star_took = 0;
  while (at < name.size()) {
    if (token < tokens_.size() && tokens_[token].kind == Token::Kind::kAnyNumber) {
      behind_star = ++token;
      star_took = at;
      continue;
    }
    const std::size_t taken = token < tokens_.size() ? tokens_[token].taken_from(name.substr(at)) : 0;
    if (taken > 0) {
      at += taken;
      ++token;
      continue;
    }
    if (behind_star == std::string_view::npos) return false;
    token = behind_star;
    at = ++star_took;
  }
  while (token < tokens_.size() && tokens_[token].kind == Token::Kind::kAnyNumber) ++token;
  return token == tokens_.size();
}

Result<PathPattern> PathPattern::parse(std::string_view text) {
  if (text.size() > kMaxPatternBytes) {
    return error(Code::kInvalidArgument, "a pattern of {} bytes is longer than any path", text.size());
  }
  PathPattern pattern;
  for (const std::string_view part : split(text, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == ".." && !pattern.parts_.empty()) {
      return error(Code::kInvalidArgument, "'{}': '..' may not stand behind a pattern", text);
    }
    NamePattern name(part);
    if (pattern.parts_.empty() && !name.literal().empty()) {
      if (!pattern.folder_.ends_with('/')) pattern.folder_ += '/';
      pattern.folder_ += name.literal();
    } else {
      pattern.parts_.push_back(std::move(name));
    }
  }
  return pattern;
}

void PathPattern::enter(State& state, std::size_t part) const {
  for (;; ++part) {
    if (std::ranges::find(state, part) == state.end()) state.push_back(part);
    if (part == parts_.size() || !parts_[part].is_any_folders()) return;
  }
}

PathPattern::State PathPattern::start() const {
  State state;
  enter(state, 0);
  return state;
}

PathPattern::State PathPattern::step(const State& state, std::string_view name) const {
  State next;
  for (const std::size_t part : state) {
    if (part == parts_.size()) continue;
    if (parts_[part].is_any_folders()) {
      enter(next, part);
    } else if (parts_[part].matches(name)) {
      enter(next, part + 1);
    }
  }
  std::ranges::sort(next);
  return next;
}

}  // namespace strake::osimage
