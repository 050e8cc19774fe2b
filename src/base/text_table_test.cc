#include "base/text_table.h"

#include <gtest/gtest.h>

namespace strake {

TEST(TextTable, AlignsColumnsAndLeavesNoBlanksAtLineEnds) {
  EXPECT_EQ(align_columns({{"NAME", "STATE", "REASON"}, {"a", "current", ""}, {"longer", "behind", "two words"}}),
            "NAME     STATE     REASON\n"
            "a        current\n"
            "longer   behind    two words\n");
  EXPECT_EQ(align_columns({{"one"}, {"a", "b"}}), "one\na     b\n");
  EXPECT_EQ(align_columns({}), "");
}

}  // namespace strake
