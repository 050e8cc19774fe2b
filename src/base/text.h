// Small questions about text, asked everywhere: blanks at the ends, kinds of ASCII characters, pieces, names in a list.
//
// ASCII alone, whatever the locale: names, numbers and protocols are not words of a language.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace strake {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_alphanumeric(char c) { return is_letter(c) || is_digit(c); }
/// False of an empty text.
bool is_all_digits(std::string_view text);

/// 0-15, or -1 when `c` is not a hexadecimal digit of either case.
constexpr int hex_digit_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr bool is_hex_digit(char c) { return hex_digit_value(c) >= 0; }

constexpr char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
std::string lower_case(std::string_view text);
bool equal_ignoring_case(std::string_view a, std::string_view b);

/// Without blanks, tabs and line ends around it.
std::string_view trimmed(std::string_view text);

/// What stands between separators; one piece more than there are separators, some of them perhaps empty.
std::vector<std::string_view> split(std::string_view text, char separator);

/// What stands before the first separator, or everything; `text` keeps what is behind it.
std::string_view take_until(std::string_view& text, char separator);

/// At most `limit` bytes, the ellipsis of a cut text included; never cut inside a UTF-8 sequence.
std::string clip_utf8(std::string_view text, std::size_t limit);

/// "312 bytes", "57 kB", "1234 MB": for people, who want to know how much, not how many.
std::string human_bytes(std::uint64_t bytes);

/// The keys of a map as "a, b, c" for messages, "none" when there is nothing.
template <typename Map>
std::string names_in(const Map& map) {
  std::string text;
  for (const auto& [name, value] : map) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

}  // namespace strake
