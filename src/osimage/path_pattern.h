// Patterns for paths: "*" and "?" for characters of one name, "[a-z]" and "[!a-z]" for one of them, "**" as a whole
// part for any number of folders. Names that begin with a dot are like others. A backslash takes the meaning from what
// follows, and so does a bracket that nothing closes.
//
// Matching takes time in proportion to the tree and the pattern, whatever either of them is: patterns come from people,
// names from images.
#pragma once

#include <bitset>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace strake::osimage {

inline constexpr std::size_t kMaxPatternBytes = 4096;

/// Of one name.
class NamePattern {
 public:
  explicit NamePattern(std::string_view text);
  bool matches(std::string_view name) const;
  /// "**", which stands for any number of folders, none included.
  bool is_any_folders() const { return any_folders_; }
  /// The name it is, where it is no pattern at all; "" otherwise.
  const std::string& literal() const { return literal_; }

 private:
  struct Token {
    enum class Kind { kOne, kAnyOne, kAnyNumber };
    Kind kind = Kind::kOne;
    std::bitset<256> characters{};  ///< of kOne
    std::size_t taken_from(std::string_view name) const;
  };
  void add_one(char character);
  /// False: it is a bracket like any other character.
  bool add_set(std::string_view& text);

  std::vector<Token> tokens_;
  bool any_folders_ = false;
  std::string literal_;
};

/// A whole path.
class PathPattern {
 public:
  static Result<PathPattern> parse(std::string_view text);

  /// What precedes the first part that is a pattern, as a path: "/usr/lib" of "/usr/lib/*.so".
  const std::string& folder() const { return folder_; }
  /// The rest, part by part; empty: the text was a path and no pattern.
  const std::vector<NamePattern>& parts() const { return parts_; }

  /// Which parts may come next, on the way down from folder(). The last number, parts().size(), means: it fits.
  using State = std::vector<std::size_t>;
  State start() const;
  State step(const State& state, std::string_view name) const;
  bool fits(const State& state) const { return !state.empty() && state.back() == parts_.size(); }

 private:
  void enter(State& state, std::size_t part) const;

  std::string folder_ = "/";
  std::vector<NamePattern> parts_;
};

/// Whether a text has anything of a pattern.
bool looks_like_pattern(std::string_view text);

}  // namespace strake::osimage
