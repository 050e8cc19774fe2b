#include "machineconfig/lint/lint_comments.h"

#include <gtest/gtest.h>

namespace strake::machineconfig::lint_comments_test {

TEST(LintComments, OnTheLineBeforeItAndAtTheHeadOfTheDocument) {
  const LintComments comments(
      "# strake:ignore large, no-pool the whole document\n"  // 1
      "\n"                                                   // 2
      "kind: MachineConfig\n"                                // 3
      "spec:\n"                                              // 4
      "  fips: true # strake:ignore fips it is meant\n"      // 5
      "  # strake:ignore image-by-tag tested by hand\n"      // 6
      "  # and a word more\n"                                // 7
      "  osImageURL: x:y\n"                                  // 8
      "  kernelType: realtime\n"                             // 9
      "---\n"                                                // 10
      "#strake:ignore one,two\n"                             // 11
      "kind: MachineConfig\n");                              // 12
  ASSERT_EQ(comments.comments().size(), 4u);
  EXPECT_EQ(comments.comments()[0], (LintComment{1, {"large", "no-pool"}, true}));
  EXPECT_EQ(comments.comments()[1], (LintComment{5, {"fips"}, false}));
  EXPECT_EQ(comments.comments()[3], (LintComment{11, {"one", "two"}, true}));

  EXPECT_TRUE(comments.silence("large", 9, 3));
  EXPECT_TRUE(comments.silence("no-pool", 3, 3));
  EXPECT_FALSE(comments.silence("large", 12, 12)) << "another document";
  EXPECT_TRUE(comments.silence("two", 12, 12));
  EXPECT_TRUE(comments.silence("fips", 5, 3));
  EXPECT_FALSE(comments.silence("fips", 6, 3)) << "what stands behind a value is about that line alone";
  EXPECT_TRUE(comments.silence("image-by-tag", 8, 3));
  EXPECT_FALSE(comments.silence("image-by-tag", 9, 3));
  EXPECT_FALSE(comments.silence("fips", 8, 3));
}

TEST(LintComments, WhatIsNoSuchComment) {
  for (const std::string_view text :
       {"a: x#strake:ignore fips\n", "strake:ignore fips\n", "# strake:ignored fips\n", "# say strake:ignore fips\n"}) {
    EXPECT_TRUE(LintComments(text).comments().empty()) << text;
  }
}

TEST(LintComments, ACommentWithoutARuleNamesAnEmptyOne) {
  const LintComments comments("# strake:ignore\nx: 1\n");
  ASSERT_EQ(comments.comments().size(), 1u);
  EXPECT_EQ(comments.comments()[0].rules, std::vector<std::string>{""});
}

TEST(LintComments, LinesEndAsYamlHasIt) {
  const LintComments comments("a: 1\r\nb: 2\rc: 3 # strake:ignore fips\n");
  EXPECT_TRUE(comments.silence("fips", 3, 1));
}

TEST(LintComments, AHostileFileCostsNoMoreThanItsLength) {
  std::string text;
  for (std::size_t i = 0; i < 2 * LintComments::kMaxComments; ++i) text += "# strake:ignore a,b,c\n";
  const LintComments comments(text);
  EXPECT_EQ(comments.comments().size(), LintComments::kMaxComments);
}

}  // namespace strake::machineconfig::lint_comments_test
