// Text from elsewhere, made safe to show: what would move the cursor, hide or reorder text is spelled out instead.
#pragma once

#include <string>
#include <string_view>

namespace strake {

/// Control characters (C0, DEL, C1), characters that change the direction of text, separators of lines and invisible
/// ones become "\u001b"; bytes that are no UTF-8 become "\xff". Tabs and ends of lines stay. Inside a JSON string the
/// result still means the same, as long as the text was UTF-8.
std::string visible_text(std::string_view text);

/// The same for text that has to stay on one line: tabs and ends of lines are spelled out too.
std::string visible_line(std::string_view text);

}  // namespace strake
