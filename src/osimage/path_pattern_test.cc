#include "osimage/path_pattern.h"

#include <gtest/gtest.h>

namespace strake::osimage::path_pattern_test {

TEST(NamePattern, Matches) {
  struct Case {
    const char* pattern;
    const char* name;
    bool fits;
  };
  const Case cases[] = {
      {"vmlinuz", "vmlinuz", true},
      {"vmlinuz", "vmlinuz2", false},
      {"*", "", true},
      {"*", ".hidden", true},
      {"*.so", "libc.so", true},
      {"*.so", "libc.so.6", false},
      {"lib*.so*", "libc.so.6", true},
      {"a*b*c", "aXbYbZc", true},
      {"a*b*c", "aXbYbZ", false},
      {"?", "a", true},
      {"?", "", false},
      {"?", "\xc3\xa9", true},
      {"??", "\xc3\xa9", false},
      {"[a-c]x", "bx", true},
      {"[a-c]x", "dx", false},
      {"[!a-c]x", "dx", true},
      {"[^a-c]x", "ax", false},
      {"[]a]", "]", true},
      {"[a-]", "-", true},
      {"[", "[", true},
      {"x[1", "x[1", true},
      {"\\*", "*", true},
      {"\\*", "x", false},
      {"x\\", "x\\", true},
      {"", "", true},
      {"", "x", false},
  };
  for (const Case& c : cases) EXPECT_EQ(NamePattern(c.pattern).matches(c.name), c.fits) << c.pattern << " " << c.name;
}

bool fits_path(std::string_view pattern_text, const std::vector<std::string_view>& names) {
  const auto pattern = PathPattern::parse(pattern_text);
  EXPECT_TRUE(pattern.ok());
  PathPattern::State state = pattern->start();
  for (const std::string_view name : names) state = pattern->step(state, name);
  return pattern->fits(state);
}

TEST(PathPattern, PartsAreNamesAndFolders) {
  EXPECT_TRUE(fits_path("*/b", {"a", "b"}));
  EXPECT_FALSE(fits_path("*/b", {"a", "x", "b"}));
  EXPECT_TRUE(fits_path("**/b", {"b"}));
  EXPECT_TRUE(fits_path("**/b", {"a", "x", "b"}));
  EXPECT_FALSE(fits_path("**/b", {"a", "x"}));
  EXPECT_TRUE(fits_path("*/**/b", {"a", "b"}));
  EXPECT_FALSE(fits_path("*/**/b", {"b"}));
  EXPECT_TRUE(fits_path("**/a/**/b/**", {"x", "a", "y", "b", "z"}));
}

TEST(PathPattern, TheFolderItBeginsIn) {
  const std::pair<const char*, const char*> cases[] = {{"/usr/lib/*.so", "/usr/lib"},
                                                       {"usr//./lib/**", "/usr/lib"},
                                                       {"**/x", "/"},
                                                       {"/a/../b/*", "/a/../b"},
                                                       {"/a\\*/b*", "/a*"}};
  for (const auto& [text, folder] : cases) {
    const auto pattern = PathPattern::parse(text);
    ASSERT_TRUE(pattern.ok());
    EXPECT_EQ(pattern->folder(), folder) << text;
  }
  EXPECT_TRUE(PathPattern::parse("/usr/lib")->parts().empty());
  EXPECT_FALSE(PathPattern::parse("/usr/*/../x").ok());
  EXPECT_FALSE(PathPattern::parse(std::string(kMaxPatternBytes + 1, '*')).ok());
}

/// What makes naive matchers run for ever: many stars, and a name that almost fits. With backtracking over all of them
/// this would need more steps than the test will ever get.
TEST(PathPattern, NothingTakesLong) {
  std::string stars;
  for (int i = 0; i < 500; ++i) stars += "*a";
  EXPECT_FALSE(NamePattern(stars + "b").matches(std::string(2000, 'a')));
  std::string folders;
  for (int i = 0; i < 500; ++i) folders += "**/a/";
  const auto pattern = PathPattern::parse(folders + "b");
  ASSERT_TRUE(pattern.ok());
  PathPattern::State state = pattern->start();
  for (int i = 0; i < 200; ++i) {
    state = pattern->step(state, "a");
    ASSERT_LE(state.size(), 1002u);
  }
  EXPECT_FALSE(pattern->fits(state));
}

}  // namespace strake::osimage::path_pattern_test
