#include "base/visible_text.h"

#include <iterator>

#include <fmt/core.h>

namespace strake {

FirstCharacter first_character(std::string_view text) {
  const auto byte = [&](std::size_t at) -> std::uint32_t { return static_cast<unsigned char>(text[at]); };
  const std::uint32_t first = byte(0);
  const FirstCharacter broken = {.code_point = first, .bytes = 1, .is_utf8 = false};
  if (first < 0x80) return {.code_point = first};
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return broken;
  std::uint32_t code_point = first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return broken;
    code_point = code_point << 6 | (byte(i) & 0x3f);
  }
  const bool too_long = (length == 3 && code_point < 0x800) || (length == 4 && code_point < 0x10000);
  const bool surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
  if (too_long || surrogate || code_point > 0x10ffff) return broken;
  return {.code_point = code_point, .bytes = length};
}

bool is_unsafe_to_show(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c <= 0x9f) ||  // C0, DEL, C1
         c == 0xad || c == 0x61c ||               // soft hyphen, Arabic letter mark
         (c >= 0x200b && c <= 0x200f) ||          // zero width, left-to-right and right-to-left marks
         (c >= 0x2028 && c <= 0x202e) ||          // separators of lines, embeddings and overrides
         (c >= 0x2060 && c <= 0x206f) ||          // invisible operators, isolates
         c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe007f);
}

void append_escape(std::string& shown, std::uint32_t c) {
  const auto append = [&](std::uint32_t unit) { fmt::format_to(std::back_inserter(shown), "\\u{:04x}", unit); };
  if (c == '\n') {
    shown += "\\n";
  } else if (c == '\t') {
    shown += "\\t";
  } else if (c >= 0x10000) {  // as a pair of surrogates
    append(0xd800 + ((c - 0x10000) >> 10));
    append(0xdc00 + ((c - 0x10000) & 0x3ff));
  } else {
    append(c);
  }
}

namespace {

std::string escape_unsafe(std::string_view text, bool one_line) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const FirstCharacter character = first_character(text);
    const std::uint32_t c = character.code_point;
    if (!character.is_utf8) {
      fmt::format_to(std::back_inserter(shown), "\\x{:02x}", c);
    } else if (!is_unsafe_to_show(c) || (!one_line && (c == '\n' || c == '\t'))) {
      shown += text.substr(0, character.bytes);
    } else {
      append_escape(shown, c);
    }
    text.remove_prefix(character.bytes);
  }
  return shown;
}

}  // namespace

std::string visible_text(std::string_view text) { return escape_unsafe(text, false); }

std::string visible_line(std::string_view text) { return escape_unsafe(text, true); }

}  // namespace strake
