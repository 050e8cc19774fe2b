#include "base/text.h"

#include <gtest/gtest.h>

#include <map>

namespace strake::text_test {

TEST(Text, Trimmed) {
  EXPECT_EQ(trimmed(" \t a b\r\n"), "a b");
  EXPECT_EQ(trimmed("a"), "a");
  EXPECT_EQ(trimmed(" \n\t\r"), "");
  EXPECT_EQ(trimmed(""), "");
  EXPECT_EQ(trimmed("\v a"), "\v a") << "only what ends lines and separates words";
}

TEST(Text, NamesIn) {
  EXPECT_EQ(names_in(std::map<std::string, int>{{"b", 1}, {"a", 2}}), "a, b");
  EXPECT_EQ(names_in(std::map<std::string, int>{}), "none");
}

}  // namespace strake::text_test
