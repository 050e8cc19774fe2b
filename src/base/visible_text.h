// Text from elsewhere, made safe to show: what would move the cursor, hide or reorder text is spelled out instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace strake {

/// Control characters (C0, DEL, C1), characters that change the direction of text, separators of lines and invisible
/// ones become "\u001b"; bytes that are no UTF-8 become "\xff". Tabs and ends of lines stay. Inside a JSON string the
/// result still means the same, as long as the text was UTF-8.
std::string visible_text(std::string_view text);

/// The same for text that has to stay on one line: tabs and ends of lines are spelled out too.
std::string visible_line(std::string_view text);

/// For writers with an escaping of their own, such as JSON.
struct FirstCharacter {
  std::uint32_t code_point = 0;  ///< the byte itself where it is no UTF-8
  std::size_t bytes = 1;
  bool is_utf8 = true;  ///< the shortest form only, no surrogates, nothing above U+10FFFF
};

/// Of a text that is not empty.
FirstCharacter first_character(std::string_view text);
bool is_unsafe_to_show(std::uint32_t code_point);
/// "\u001b", "\n", "\t"; characters above U+FFFF as the pair of escapes JSON wants.
void append_escape(std::string& shown, std::uint32_t code_point);

}  // namespace strake
