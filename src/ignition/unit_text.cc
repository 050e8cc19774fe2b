#include "ignition/unit_text.h"

#include <algorithm>
#include <optional>
#include <string>

namespace strake::ignition {

namespace {

constexpr std::size_t kMaxUnitLineBytes = 2048;  // systemd's LINE_MAX
constexpr std::size_t kReadBufferBytes = 4096;   // of the reference reader; decides which long lines it notices

/// The blanks of Unicode that are more than one byte long, in UTF-8.
constexpr std::string_view kWideBlanks[] = {
    "\xC2\x85",     "\xC2\xA0",     "\xE1\x9A\x80", "\xE2\x80\x80", "\xE2\x80\x81", "\xE2\x80\x82", "\xE2\x80\x83",
    "\xE2\x80\x84", "\xE2\x80\x85", "\xE2\x80\x86", "\xE2\x80\x87", "\xE2\x80\x88", "\xE2\x80\x89", "\xE2\x80\x8A",
    "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80"};

/// Bytes of the blank at the start of `text`; 0 when there is none.
std::size_t blank_size(std::string_view text) {
  if (text.empty()) return 0;
  if (std::string_view("\t\n\v\f\r ").find(text.front()) != std::string_view::npos) return 1;
  for (const std::string_view blank : kWideBlanks) {
    if (text.starts_with(blank)) return blank.size();
  }
  return 0;
}

std::string_view without_leading_blanks(std::string_view text) {
  for (std::size_t size = blank_size(text); size != 0; size = blank_size(text)) text.remove_prefix(size);
  return text;
}

/// Bytes of the UTF-8 character at the start of `text`, which is valid because JSON strings are.
std::size_t character_size(std::string_view text) {
  std::size_t size = 1;
  while (size < text.size() && (static_cast<unsigned char>(text[size]) & 0xC0u) == 0x80u) ++size;
  return size;
}

/// A reader with the reference's buffer: the line limit depends on what happens to be buffered, so it is modelled.
class BufferedText {
 public:
  explicit BufferedText(std::string_view text) : text_(text) {}

  bool line_is_too_long() const {
    return buffered_ - at_ >= kMaxUnitLineBytes &&
           text_.substr(at_, kMaxUnitLineBytes).find_first_of("\r\n") == std::string_view::npos;
  }

  /// The next character, still unread; empty at the end.
  std::string_view peek_character() {
    if (at_ == text_.size()) return {};
    const std::size_t size = character_size(text_.substr(at_));
    if (at_ + size > buffered_) fill();
    return text_.substr(at_, size);
  }

  void skip(std::size_t bytes) { at_ += bytes; }

  struct Piece {
    std::string_view text;  ///< without the delimiter
    bool found = false;     ///< the delimiter was there
  };

  Piece read_until(char delimiter) {
    const std::size_t start = at_;
    for (;;) {
      const std::size_t found = text_.substr(0, buffered_).find(delimiter, at_);
      if (found != std::string_view::npos) {
        at_ = found + 1;
        return {text_.substr(start, found - start), true};
      }
      if (buffered_ - at_ >= kReadBufferBytes) {
        at_ = buffered_;
      } else if (buffered_ == text_.size()) {
        at_ = buffered_;
        return {text_.substr(start), false};
      }
      fill();
    }
  }

  /// Up to the end of the line. A carriage return is part of the line, unless it ends the text.
  std::string_view read_line() {
    Piece piece = read_until('\n');
    if (!piece.found && piece.text.ends_with('\r')) piece.text.remove_suffix(1);
    return piece.text;
  }

 private:
  void fill() { buffered_ = std::min(text_.size(), at_ + kReadBufferBytes); }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t buffered_ = 0;
};

class UnitParser {
 public:
  explicit UnitParser(std::string_view text) : text_(text) {}

  Result<UnitText> parse() {
    // One step is one character, section name, rest of a section line, comment, option name or line of a value: before
    // each, the line limit is looked at.
    while (step_ != Step::kDone) {
      if (text_.line_is_too_long()) return unit_error("line too long (max 2048 bytes)");
      STRAKE_CHECK_OK(take_step());
    }
    return result_;
  }

 private:
  enum class Step {
    kBeforeSection,
    kInSection,
    kSectionName,
    kSectionRest,
    kComment,
    kOptionName,
    kOptionValue,
    kDone
  };

  static Error unit_error(std::string_view what) {
    return error(Code::kInvalidArgument, "invalid unit content: {}", what);
  }

  Status take_step() {
    switch (step_) {
      case Step::kBeforeSection:
      case Step::kInSection: next_thing(); return {};
      case Step::kSectionName: return section_name();
      case Step::kSectionRest: return section_rest();
      case Step::kComment: comment(); return {};
      case Step::kOptionName: return option_name();
      case Step::kOptionValue: option_value(); return {};
      case Step::kDone: return {};
    }
    return {};
  }

  void next_thing() {
    const std::string_view next = text_.peek_character();
    if (next.empty()) {
      step_ = Step::kDone;
    } else if (next == "[") {
      text_.skip(1);
      step_ = Step::kSectionName;
    } else if (next == "#" || next == ";") {
      text_.skip(1);
      after_comment_ = step_;
      step_ = Step::kComment;
    } else if (step_ == Step::kBeforeSection || blank_size(next) != 0) {
      text_.skip(next.size());
    } else {
      step_ = Step::kOptionName;
    }
  }

  Status section_name() {
    const auto piece = text_.read_until(']');
    if (!piece.found) return unit_error("unable to find end of section");
    section_ = piece.text;
    step_ = Step::kSectionRest;
    return {};
  }

  Status section_rest() {
    // What stands there is not repeated: units hold secrets, too.
    if (!without_leading_blanks(text_.read_line()).empty()) return unit_error("found garbage after section name");
    step_ = Step::kInSection;
    return {};
  }

  void comment() {
    for (;;) {
      std::string_view line = text_.read_line();
      if (line.ends_with(' ')) line.remove_suffix(1);
      if (!line.ends_with('\\')) break;
    }
    step_ = after_comment_;
  }

  Status option_name() {
    for (;;) {
      const std::string_view next = text_.peek_character();
      if (next.empty()) return unit_error("EOF");
      text_.skip(next.size());
      if (next == "\n" || next == "\r") {
        return unit_error("unexpected newline encountered while parsing option name");
      }
      if (next == "=") break;
    }
    step_ = Step::kOptionValue;
    return {};
  }

  void option_value() {
    const std::string_view line = text_.read_line();
    if (!without_leading_blanks(line).empty() && line.ends_with('\\')) return;  // the next line continues the value
    result_.has_option = true;
    if (section_ == "Install") result_.has_install_option = true;
    step_ = Step::kInSection;
  }

  BufferedText text_;
  Step step_ = Step::kBeforeSection;
  Step after_comment_ = Step::kBeforeSection;
  std::string_view section_;
  UnitText result_;
};

}  // namespace

Result<UnitText> parse_unit_text(std::string_view text) { return UnitParser(text).parse(); }

}  // namespace strake::ignition
