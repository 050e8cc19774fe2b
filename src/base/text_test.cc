#include "base/text.h"

#include <gtest/gtest.h>

#include <cctype>
#include <map>

namespace strake::text_test {

TEST(Text, Trimmed) {
  EXPECT_EQ(trimmed(" \t a b\r\n"), "a b");
  EXPECT_EQ(trimmed("a"), "a");
  EXPECT_EQ(trimmed(" \n\t\r"), "");
  EXPECT_EQ(trimmed(""), "");
  EXPECT_EQ(trimmed("\v a"), "\v a") << "only what ends lines and separates words";
}

TEST(Text, KindsOfCharacters) {
  for (int code = 0; code < 256; ++code) {
    const char c = static_cast<char>(code);
    const bool ascii = code < 128;
    EXPECT_EQ(is_digit(c), ascii && std::isdigit(code) != 0) << code;
    EXPECT_EQ(is_letter(c), ascii && std::isalpha(code) != 0) << code;
    EXPECT_EQ(is_alphanumeric(c), ascii && std::isalnum(code) != 0) << code;
    EXPECT_EQ(is_hex_digit(c), ascii && std::isxdigit(code) != 0) << code;
    EXPECT_EQ(lower_case(c), ascii ? static_cast<char>(std::tolower(code)) : c) << code;
  }
  EXPECT_EQ(hex_digit_value('0'), 0);
  EXPECT_EQ(hex_digit_value('a'), 10);
  EXPECT_EQ(hex_digit_value('F'), 15);
  EXPECT_TRUE(is_all_digits("0123456789"));
  EXPECT_FALSE(is_all_digits(""));
  EXPECT_FALSE(is_all_digits("12-"));
}

TEST(Text, Case) {
  EXPECT_EQ(lower_case("MachineSet \xC3\x84"), "machineset \xC3\x84") << "what is not ASCII stays";
  EXPECT_TRUE(equal_ignoring_case("Content-Length", "content-lengtH"));
  EXPECT_FALSE(equal_ignoring_case("Content-Length", "Content-Lengths"));
  EXPECT_FALSE(equal_ignoring_case("[", "{")) << "they differ in the bit that tells letters apart";
}

TEST(Text, Split) {
  using Pieces = std::vector<std::string_view>;
  EXPECT_EQ(split("a,b,c", ','), (Pieces{"a", "b", "c"}));
  EXPECT_EQ(split(",a,", ','), (Pieces{"", "a", ""}));
  EXPECT_EQ(split("", ','), (Pieces{""}));
}

TEST(Text, TakeUntil) {
  std::string_view lines = "one\n\ntwo";
  EXPECT_EQ(take_until(lines, '\n'), "one");
  EXPECT_EQ(take_until(lines, '\n'), "");
  EXPECT_EQ(lines, "two");
  EXPECT_EQ(take_until(lines, '\n'), "two");
  EXPECT_EQ(lines, "");
  EXPECT_EQ(take_until(lines, '\n'), "");
}

TEST(Text, NamesIn) {
  EXPECT_EQ(names_in(std::map<std::string, int>{{"b", 1}, {"a", 2}}), "a, b");
  EXPECT_EQ(names_in(std::map<std::string, int>{}), "none");
}

TEST(Text, BytesForPeople) {
  EXPECT_EQ(human_bytes(0), "0 bytes");
  EXPECT_EQ(human_bytes(9'999), "9999 bytes");
  EXPECT_EQ(human_bytes(10'000), "10 kB");
  EXPECT_EQ(human_bytes(9'999'999), "9999 kB");
  EXPECT_EQ(human_bytes(1'234'000'000), "1234 MB");
}

}  // namespace strake::text_test
