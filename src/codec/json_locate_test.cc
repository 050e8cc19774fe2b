#include "codec/json_locate.h"

#include <gtest/gtest.h>

namespace strake::json::json_locate_test {

TEST(JsonLocate, FindsValuesKeysAndTheDeepestStepThatExists) {
  const std::string_view text = "{\n  \"a\": [1, {\"b\\u0041\" : \"x,]}\\\"\"}],\n  \"\u00e9\": {}, \"c\": null\n}";
  struct Case {
    Wanted wanted;
    std::size_t line, column;
  };
  const Case cases[] = {
      {{{}}, 1, 1},
      {{{"a"}}, 2, 8},
      {{{"a"}, true}, 2, 3},
      {{{"a", "[0]"}}, 2, 9},
      {{{"a", "[1]"}}, 2, 12},
      {{{"a", "[1]", "bA"}}, 2, 25},
      {{{"a", "[1]", "bA"}, true}, 2, 13},
      {{{"a", "[1]", "missing", "deeper"}}, 2, 12},
      {{{"a", "[1]", "missing"}, true}, 2, 12},
      {{{"a", "[7]"}}, 2, 8},
      {{{"c"}}, 3, 17},
      {{{"c"}, true}, 3, 12},
  };
  std::vector<Wanted> wanted;
  for (const Case& test : cases) wanted.push_back(test.wanted);
  const auto found = locate(text, wanted);
  ASSERT_EQ(found.size(), std::size(cases));
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].line, cases[i].line) << i;
    EXPECT_EQ(found[i].column, cases[i].column) << i;
  }
}

TEST(JsonLocate, ATextOfOneScalarIsTheRoot) {
  const Wanted wanted[] = {{{"a"}}};
  EXPECT_EQ(locate("  7", wanted)[0].column, 3u);
}

TEST(JsonLocate, PathsAsTextAndBack) {
  for (const std::string_view path : {"", "a", "storage.files[2].path", "a[0][1].b", "[3].x"}) {
    EXPECT_EQ(path_text(parse_steps(path)), path);
  }
  EXPECT_EQ(parse_steps("storage.files[2].path"), (Steps{"storage", "files", "[2]", "path"}));
  // What is no path ends all the same.
  for (const std::string_view odd : {".", "..", "[", "a[", "a.", "[]]", "a..b"}) (void)parse_steps(odd);
}

}  // namespace strake::json::json_locate_test
