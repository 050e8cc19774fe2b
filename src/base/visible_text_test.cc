#include "base/visible_text.h"

#include <gtest/gtest.h>

namespace strake {
namespace {

TEST(VisibleText, SpellsOutWhatATerminalWouldObey) {
  struct Case {
    std::string_view name, text, shown;
  };
  const Case cases[] = {
      {"plain", "naïve café ✓ 日本\tx\n", "naïve café ✓ 日本\tx\n"},
      {"escape sequence", "\x1b[2J\x1b]0;title\a", "\\u001b[2J\\u001b]0;title\\u0007"},
      {"carriage return and backspace", "ok\rno\b", "ok\\u000dno\\u0008"},
      {"DEL", "a\x7f", "a\\u007f"},
      {"C1 as UTF-8",
       "\xc2\x9b"
       "31m",
       "\\u009b31m"},
      {"C1 as a bare byte",
       "\x9b"
       "31m",
       "\\x9b31m"},
      {"override",
       "a\xe2\x80\xae"
       "b",
       "a\\u202eb"},
      {"isolate", "\xe2\x81\xa6", "\\u2066"},
      {"zero width space", "\xe2\x80\x8b", "\\u200b"},
      {"line separator", "\xe2\x80\xa8", "\\u2028"},
      {"tag character", "\xf3\xa0\x81\x81", "\\udb40\\udc41"},
      {"overlong", "\xc0\xaf", "\\xc0\\xaf"},
      {"surrogate", "\xed\xa0\x80", "\\xed\\xa0\\x80"},
      {"cut", "\xe2\x80", "\\xe2\\x80"},
      {"zero byte", std::string_view("a\0b", 3), "a\\u0000b"},
      {"above the last", "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
  };
  for (const Case& c : cases) EXPECT_EQ(visible_text(c.text), c.shown) << c.name;
}

TEST(VisibleText, ALineStaysOneLine) {
  EXPECT_EQ(visible_line("name\nstrake: all is well\t!"), "name\\nstrake: all is well\\t!");
}

}  // namespace
}  // namespace strake
