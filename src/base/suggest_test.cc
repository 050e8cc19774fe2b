#include "base/suggest.h"

#include <gtest/gtest.h>

namespace strake::suggest_test {
namespace {

TEST(Suggest, CountsSlipsOfTheFinger) {
  EXPECT_EQ(edit_distance("plan", "plan"), 0u);
  EXPECT_EQ(edit_distance("paln", "plan"), 1u);
  EXPECT_EQ(edit_distance("pla", "plan"), 1u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(Suggest, NamesTheNearestOrNothing) {
  constexpr std::string_view kWords[] = {"release", "render", "plan", "explain"};
  EXPECT_EQ(nearest_word("relaese", kWords), "release");
  EXPECT_EQ(nearest_word("rende", kWords), "render");
  EXPECT_EQ(nearest_word("exp", kWords), "explain");
  EXPECT_EQ(nearest_word("frobnicate", kWords), "");
  EXPECT_EQ(nearest_word("x", kWords), "");
  EXPECT_EQ(nearest_word(std::string(100000, 'r'), kWords), "");
  EXPECT_EQ(did_you_mean("paln", kWords), "; did you mean 'plan'?");
}

}  // namespace
}  // namespace strake::suggest_test
