#include "codec/yaml/yaml_style.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <variant>

#include "base/text.h"
#include "codec/unicode_category.h"
#include "codec/utf8.h"
#include "codec/yaml/yaml_scalar.h"

namespace strake::yaml {
namespace {

constexpr std::size_t kMaxReadableKeyChars = 1024;  // as JSON text, quotes included; the reader gives up beyond

bool is_space_or_tab(char32_t c) { return c == U' ' || c == U'\t'; }

bool is_refused_by_reader(char32_t c) {
  return c == 0x7F || (c >= 0x80 && c <= 0x9F && c != kNextLine) || c == 0xFFFE || c == 0xFFFF;
}

/// A raw U+0085 is a line break inside the quoted JSON string: the reader folds it, and the spaces around it, away.
Result<std::u32string> fold_next_lines(const std::u32string& text) {
  if (text.find(kNextLine) == std::u32string::npos) return text;
  std::u32string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t word = std::min(text.find_first_of(U" \u0085", i), text.size());
    out.append(text, i, word - i);
    const std::size_t end = std::min(text.find_first_not_of(U" \u0085", word), text.size());
    const std::u32string_view gap = std::u32string_view(text).substr(word, end - word);
    const auto breaks = static_cast<std::size_t>(std::count(gap.begin(), gap.end(), kNextLine));
    if (breaks == 0) {
      out.append(gap);
    } else if (breaks == 1) {
      out.push_back(U' ');
    } else {
      out.append(breaks - 1, U'\n');
    }
    const std::u32string_view rest = std::u32string_view(text).substr(end);
    const bool starts_line = !gap.empty() && gap.back() == kNextLine;
    if (starts_line && (rest.starts_with(U"---") || rest.starts_with(U"...")) && rest.size() > 3 &&
        (rest[3] == U' ' || rest[3] == kNextLine)) {
      return error(
          Code::kInvalidArgument,
          "a string has a document marker ({}) right after U+0085, which YAML readers refuse; remove the U+0085",
          rest.front() == U'-' ? "---" : "...");
    }
    i = end;
  }
  return out;
}

/// How many characters the key takes as JSON text with `<`, `>`, `&` and the two Unicode separators escaped.
std::size_t json_key_chars(const std::u32string& key) {
  std::size_t chars = 2;
  for (char32_t c : key) {
    switch (c) {
      case U'"':
      case U'\\':
      case U'\n':
      case U'\r':
      case U'\t':
      case U'\b':
      case U'\f': chars += 2; break;
      case U'<':
      case U'>':
      case U'&':
      case kLineSeparator:
      case kParagraphSeparator: chars += 6; break;
      default: chars += c < 0x20 ? 6 : 1; break;
    }
  }
  return chars;
}

struct ScalarTraits {
  bool multiline = false;
  bool plain_allowed = true;
  bool single_quoted_allowed = true;
  bool literal_allowed = true;
};

/// What all styles follow from, once it is known what the text contains.
struct TextFacts {
  bool has_indicator = false;
  bool has_special = false;
  bool multiline = false;
  bool break_then_space = false;
  bool space_then_break = false;
  bool starts_with_space = false;
  bool ends_with_space = false;
};

ScalarTraits traits_of(const TextFacts& facts) {
  const bool unquotable = facts.space_then_break || facts.has_special;
  ScalarTraits traits;
  traits.multiline = facts.multiline;
  traits.plain_allowed =
      !facts.has_indicator && !facts.multiline && !facts.starts_with_space && !facts.ends_with_space && !unquotable;
  traits.single_quoted_allowed = !facts.break_then_space && !unquotable;
  traits.literal_allowed = !facts.ends_with_space && !unquotable;
  return traits;
}

bool is_leading_indicator(char32_t c) {
  return std::u32string_view(U"#,[]{}&*!|>'\"%@`").find(c) != std::u32string_view::npos;
}

ScalarTraits analyze_scalar(const std::u32string& text) {
  if (text.empty()) return {.literal_allowed = false};
  TextFacts facts;
  facts.has_indicator = text.starts_with(U"---") || text.starts_with(U"...");
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char32_t c = text[i];
    const char32_t previous = i > 0 ? text[i - 1] : U'\0';
    const bool blank_follows = i + 1 == text.size() || is_space_or_tab(text[i + 1]);
    const bool blank_precedes = i > 0 && (is_space_or_tab(previous) || is_line_break(previous) || previous == U'\0');
    if (i == 0 && is_leading_indicator(c)) facts.has_indicator = true;
    if (i == 0 && (c == U'?' || c == U'-') && blank_follows) facts.has_indicator = true;
    if (c == U':' && blank_follows) facts.has_indicator = true;
    if (c == U'#' && blank_precedes) facts.has_indicator = true;
    if (!is_printable(c)) facts.has_special = true;
    if (is_line_break(c)) facts.multiline = true;
    if (c == U' ' && i > 0 && is_line_break(previous)) facts.break_then_space = true;
    if (is_line_break(c) && i > 0 && previous == U' ') facts.space_then_break = true;
  }
  facts.starts_with_space = text.front() == U' ';
  facts.ends_with_space = text.back() == U' ';
  return traits_of(facts);
}

/// The same by a few searches, which the machine does many bytes at a time.
ScalarTraits analyze_simple(std::string_view text) {
  if (text.empty()) return {.literal_allowed = false};
  const auto contains = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  const char first = text.front();
  const bool blank_after_first = text.size() == 1 || text[1] == ' ';
  const bool has_space = text.find(' ') != std::string_view::npos;
  TextFacts facts;
  facts.multiline = text.find('\n') != std::string_view::npos;
  facts.has_indicator = text.starts_with("---") || text.starts_with("...") ||
                        is_leading_indicator(static_cast<unsigned char>(first)) ||
                        ((first == '?' || first == '-') && blank_after_first) || text.back() == ':' ||
                        (has_space && (contains(": ") || contains(" #"))) || (facts.multiline && contains("\n#"));
  facts.break_then_space = has_space && facts.multiline && contains("\n ");
  facts.space_then_break = has_space && facts.multiline && contains(" \n");
  facts.starts_with_space = first == ' ';
  facts.ends_with_space = text.back() == ' ';
  return traits_of(facts);
}

bool means_string(std::string_view text) {
  return std::holds_alternative<PlainString>(resolve_scalar(text)) && !looks_like_base60(text);
}

bool means_string(const std::u32string& text) {
  std::string utf8;
  for (char32_t c : text) codec::append_utf8(utf8, c);
  return means_string(std::string_view(utf8));
}

template <typename Text>
ScalarForm form_of(const Text& text, const ScalarTraits& traits, bool has_line_feed) {
  ScalarForm form{.style = ScalarStyle::kDoubleQuoted, .multiline = traits.multiline};
  if (has_line_feed) {
    if (traits.literal_allowed) form.style = ScalarStyle::kLiteral;
  } else if (means_string(text)) {
    if (traits.plain_allowed) {
      form.style = ScalarStyle::kPlain;
    } else if (traits.single_quoted_allowed) {
      form.style = ScalarStyle::kSingleQuoted;
    }
  }
  return form;
}

/// Eight bytes at a time: the highest bit of each byte of the result is set where the byte is not visible ASCII or a
/// blank.
std::uint64_t not_printable_ascii(std::uint64_t bytes) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHighest = 0x80 * kOnes;
  const std::uint64_t below_blank = (bytes - 0x20 * kOnes) & ~bytes;
  const std::uint64_t delete_or_above = bytes + kOnes;  // 0x7F becomes 0x80; a carry out of 0xFF comes from one marked
  return (below_blank | delete_or_above | bytes) & kHighest;
}

bool is_printable_ascii(char c) { return c >= ' ' && c <= '~'; }

}  // namespace

bool is_line_break(char32_t c) {
  return c == U'\n' || c == U'\r' || c == kNextLine || c == kLineSeparator || c == kParagraphSeparator;
}

bool is_printable(char32_t c) {
  if (c == U'\n' || (c >= 0x20 && c <= 0x7E) || (c >= 0xA0 && c <= 0xD7FF)) return true;
  return c >= 0xE000 && c <= 0xFFFD && c != kByteOrderMark;
}

Result<std::u32string> read_string(std::string_view utf8) {
  const auto text = codec::decode_utf8(utf8);
  if (!text) return error(Code::kInvalidArgument, "a string is not valid UTF-8 and cannot be written as YAML");
  const auto refused = std::find_if(text->begin(), text->end(), is_refused_by_reader);
  if (refused != text->end()) {
    return error(
        Code::kInvalidArgument,
        "a string contains the control character U+{:04X} (character {}), which YAML readers refuse; remove it",
        static_cast<std::uint32_t>(*refused), refused - text->begin() + 1);
  }
  return fold_next_lines(*text);
}

Result<std::u32string> read_key(std::string_view utf8) {
  STRAKE_TRY(std::u32string key, read_string(utf8));
  if (utf8.find("\xC2\x85") != std::string_view::npos) {
    return error(Code::kInvalidArgument,
                 "a map key contains a line break (U+0085), which YAML readers refuse; rename it");
  }
  if (json_key_chars(key) > kMaxReadableKeyChars) {
    return error(Code::kInvalidArgument,
                 "a map key is longer than {} characters, which YAML readers refuse; shorten it", kMaxReadableKeyChars);
  }
  return key;
}

ScalarForm choose_form(const std::u32string& text) {
  return form_of(text, analyze_scalar(text), text.find(U'\n') != std::u32string::npos);
}

ScalarForm choose_form(std::string_view simple_text) {
  const ScalarTraits traits = analyze_simple(simple_text);
  return form_of(simple_text, traits, traits.multiline);
}

bool is_simple_text(std::string_view text) {
  const auto is_simple = [](char c) { return is_printable_ascii(c) || c == '\n'; };
  constexpr std::size_t kWords = 4;
  std::array<std::uint64_t, kWords> words{};
  for (; text.size() >= sizeof words; text.remove_prefix(sizeof words)) {
    std::memcpy(words.data(), text.data(), sizeof words);
    std::uint64_t odd = 0;
    for (const std::uint64_t word : words) odd |= not_printable_ascii(word);
    if (odd != 0 && !std::ranges::all_of(text.substr(0, sizeof words), is_simple)) return false;
  }
  return std::ranges::all_of(text, is_simple);
}

bool is_word(std::string_view key) { return !key.empty() && std::ranges::all_of(key, is_letter); }

std::string format_float(double value) {
  if (std::isnan(value)) return ".nan";
  if (std::isinf(value)) return value < 0 ? "-.inf" : ".inf";
  char buffer[64];
  const auto scientific = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  const std::string_view text(buffer, static_cast<std::size_t>(scientific.ptr - buffer));
  const std::size_t exponent_at = text.find('e') + 1;
  int exponent = 0;
  const std::size_t digits_at = exponent_at + (text[exponent_at] == '+' ? 1 : 0);
  std::from_chars(text.data() + digits_at, text.data() + text.size(), exponent);
  if (exponent < -4 || exponent >= 6) return std::string(text);
  const auto fixed = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed);
  return std::string(buffer, fixed.ptr);
}

bool natural_less(const std::u32string& a, const std::u32string& b) {
  const std::size_t shared = std::min(a.size(), b.size());
  const auto difference = static_cast<std::size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(shared), b.begin()).first - a.begin());
  if (difference == shared) return a.size() < b.size();

  const char32_t ca = a[difference];
  const char32_t cb = b[difference];
  const bool a_is_letter = codec::is_unicode_letter(ca);
  const bool b_is_letter = codec::is_unicode_letter(cb);
  if (a_is_letter && b_is_letter) return ca < cb;
  if (a_is_letter || b_is_letter) return b_is_letter;

  // A zero inside a longer number is a digit like any other; at its start it is padding.
  bool inside_number = false;
  if (ca == U'0' || cb == U'0') {
    for (std::size_t i = difference; i > 0 && codec::is_unicode_digit(a[i - 1]) && !inside_number; --i) {
      inside_number = a[i - 1] != U'0';
    }
  }
  struct DigitRun {
    std::int64_t value;
    std::size_t end;
  };
  const auto digit_run = [&](const std::u32string& text) {
    std::uint64_t value = inside_number ? 1 : 0;  // unsigned: an overlong run wraps around, as it does in the original
    std::size_t end = difference;
    for (; end < text.size() && codec::is_unicode_digit(text[end]); ++end) value = value * 10 + text[end] - U'0';
    return DigitRun{static_cast<std::int64_t>(value), end};
  };
  const DigitRun run_a = digit_run(a);
  const DigitRun run_b = digit_run(b);
  if (run_a.value != run_b.value) return run_a.value < run_b.value;
  if (run_a.end != run_b.end) return run_a.end < run_b.end;
  return ca < cb;
}

}  // namespace strake::yaml
