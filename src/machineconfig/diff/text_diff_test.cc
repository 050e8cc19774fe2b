#include "machineconfig/diff/text_diff.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "machineconfig/diff/sequence_diff.h"
#include "machineconfig/testing/patched.h"

namespace strake::machineconfig::text_diff_test {

using Lines = std::vector<std::string>;

constexpr TextDiffLimits kUnlimited{.max_lines = 1'000'000, .max_line_bytes = 1'000'000};

TEST(UnifiedDiff, AsDiffWritesIt) {
  const struct {
    const char* name;
    std::string before, after;
    Lines expected;
  } cases[] = {
      {"equal", "a\nb\n", "a\nb\n", {}},
      {"one line of many",
       "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
       "1\n2\n3\n4\nX\n6\n7\n8\n9\n",
       {"@@ -2,7 +2,7 @@", " 2", " 3", " 4", "-5", "+X", " 6", " 7", " 8"}},
      {"two hunks",
       "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
       "X\n2\n3\n4\n5\n6\n7\n8\nY\n",
       {"@@ -1,4 +1,4 @@", "-1", "+X", " 2", " 3", " 4", "@@ -6,4 +6,4 @@", " 6", " 7", " 8", "-9", "+Y"}},
      {"a new file", "", "a\nb\n", {"@@ -0,0 +1,2 @@", "+a", "+b"}},
      {"a file that goes", "a\n", "", {"@@ -1 +0,0 @@", "-a"}},
      {"the last line break", "a\nb", "a\nb\n", {"@@ -1,2 +1,2 @@", " a", "-b", "\\ No newline at end of file", "+b"}},
      {"carriage returns count", "a\r\n", "a\n", {"@@ -1 +1 @@", "-a\r", "+a"}},
      {"inserted", "a\nc\n", "a\nb\nc\n", {"@@ -1,2 +1,3 @@", " a", "+b", " c"}},
  };
  for (const auto& c : cases) EXPECT_EQ(unified_diff(c.before, c.after), c.expected) << c.name;
}

TEST(UnifiedDiff, LongLinesAreShownAroundWhereTheyDiffer) {
  const TextDiffLimits limits{.max_line_bytes = 20};
  const std::string head(1000, 'h'), tail(1000, 't');
  EXPECT_EQ(unified_diff(head + "old" + tail + "\n", head + "new" + tail + "\n", limits),
            (Lines{"@@ -1 +1 @@", "-... (from column 996) hhhhholdtttttttttttt... (988 more bytes)",
                   "+... (from column 996) hhhhhnewtttttttttttt... (988 more bytes)"}));
  EXPECT_EQ(unified_diff(head + "old\n", head + "new\n", limits),
            (Lines{"@@ -1 +1 @@", "-... (from column 984) hhhhhhhhhhhhhhhhhold",
                   "+... (from column 984) hhhhhhhhhhhhhhhhhnew"}))
      << "at the end with what fits before it";
  const std::string umlauts = [] {
    std::string text;
    for (int i = 0; i < 100; ++i) text += "\u00fc";
    return text;
  }();
  EXPECT_EQ(unified_diff(umlauts + "a\n", umlauts + "b\n", limits).at(1),
            "-... (from column 92) \u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fca")
      << "columns count characters, and none is cut in two";
  EXPECT_EQ(unit_diff("[Service]\nExecStart=" + head + "old\n", "[Service]\nExecStart=" + head + "new\n", limits),
            (Lines{"[Service]", "-... (from column 994) hhhhhhhhhhhhhhhhhold",
                   "+... (from column 994) hhhhhhhhhhhhhhhhhnew"}));
}

std::string text_from(const std::vector<int>& words, bool last_break) {
  std::string text;
  for (const int word : words) text += fmt::format("{}\n", word);
  if (!last_break && !text.empty()) text.pop_back();
  return text;
}

/// The length of the longest common subsequence, the slow and certain way.
std::size_t common_length(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<std::vector<std::size_t>> best(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      best[i][j] = a[i - 1] == b[j - 1] ? best[i - 1][j - 1] + 1 : std::max(best[i - 1][j], best[i][j - 1]);
    }
  }
  return best[a.size()][b.size()];
}

RC_GTEST_PROP(UnifiedDiff, AppliedToTheOldTextItGivesTheNewOne, ()) {
  const auto words = rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 6));
  const auto a = *words, b = *words;
  const std::string before = text_from(a, *rc::gen::arbitrary<bool>()),
                    after = text_from(b, *rc::gen::arbitrary<bool>());
  const Lines hunks = unified_diff(before, after, kUnlimited);
  RC_ASSERT(builders::patched(before, hunks) == after);
  RC_ASSERT(hunks.empty() == (before == after));
}

RC_GTEST_PROP(SequenceDiff, IsTheShortest, ()) {
  const auto words = rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 5));
  const auto a = *words, b = *words;
  Lines texts;
  for (int i = 0; i < 5; ++i) texts.push_back(fmt::format("{}", i));
  std::vector<std::string_view> before, after;
  for (const int word : a) before.push_back(texts[static_cast<std::size_t>(word)]);
  for (const int word : b) after.push_back(texts[static_cast<std::size_t>(word)]);
  std::size_t changed = 0;
  for (const Edit& edit : diff_sequences(before, after)) {
    if (edit.kind != EditKind::kKeep) ++changed;
  }
  RC_ASSERT(changed == a.size() + b.size() - 2 * common_length(a, b));
}

TEST(SequenceDiff, BeyondItsBoundItStaysTrue) {
  const std::vector<std::string_view> before{"same", "a", "b", "c", "end"}, after{"same", "x", "b", "y", "end"};
  std::string kinds;
  for (const Edit& edit : diff_sequences(before, after, 3)) {
    kinds += edit.kind == EditKind::kKeep ? '=' : edit.kind == EditKind::kRemove ? '-' : '+';
  }
  EXPECT_EQ(kinds, "=---+++=");
}

TEST(UnifiedDiff, LargeTextsAreBounded) {
  std::string before, after;
  for (int i = 0; i < 100'000; ++i) {
    before += fmt::format("old {}\n", i);
    after += fmt::format("new {}\n", i);
  }
  const Lines lines = unified_diff(before, after);
  ASSERT_EQ(lines.size(), 201u);
  EXPECT_EQ(lines.back(), "... 199801 more lines");
  EXPECT_EQ(builders::patched(before, unified_diff(before, after, kUnlimited)), after);

  const Lines one_line = unified_diff("", std::string(1 << 20, 'x'));
  ASSERT_EQ(one_line.size(), 3u);
  EXPECT_EQ(one_line[1], "+" + std::string(400, 'x') + "... (1048176 more bytes)");
}

TEST(Shortened, CutsBetweenCharacters) {
  EXPECT_EQ(shortened("short", 10), "short");
  EXPECT_EQ(shortened("aéé", 2), "a... (4 more bytes)");
}

TEST(UnitDiff, BySectionAndKey) {
  const std::string base =
      "# c\n[Unit]\nDescription=x\n\n[Service]\nExecStart=/bin/a\nEnvironment=A=1\nEnvironment=B=2\n";
  const struct {
    const char* name;
    std::string before, after;
    Lines expected;
  } cases[] = {
      {"equal", base, base, {}},
      {"a value",
       base,
       "[Unit]\nDescription=x\n[Service]\nExecStart=/bin/b\nEnvironment=A=1\nEnvironment=B=2\n",
       {"[Service]", "-ExecStart=/bin/a", "+ExecStart=/bin/b"}},
      {"one of several values", base, base + "Environment=C=3\n", {"[Service]", "+Environment=C=3"}},
      {"values in another order",
       base,
       "[Unit]\nDescription=x\n[Service]\nExecStart=/bin/a\nEnvironment=B=2\nEnvironment=A=1\n",
       {"[Service]", "-Environment=A=1", "+Environment=A=1"}},
      {"a key goes",
       base,
       "[Unit]\n[Service]\nExecStart=/bin/a\nEnvironment=A=1\nEnvironment=B=2\n",
       {"[Unit]", "-Description=x"}},
      {"a section comes",
       base,
       base + "[Install]\nWantedBy=multi-user.target\n",
       {"[Install]", "+WantedBy=multi-user.target"}},
      {"a section goes", base + "[Install]\nWantedBy=a\n", base, {"[Install]", "-WantedBy=a"}},
      {"only comments",
       base,
       "[Unit]\nDescription=x\n[Service]\nExecStart=/bin/a\nEnvironment=A=1\nEnvironment=B=2\n",
       {"only comments, blank lines or the order of keys differ"}},
      {"lines that continue",
       "[Service]\nExecStart=/bin/a \\\n  --x\n",
       "[Service]\nExecStart=/bin/a \\\n  --y\n",
       {"[Service]", "-ExecStart=/bin/a  --x", "+ExecStart=/bin/a  --y"}},
      {"a reset list", base, base + "ExecStart=\n", {"[Service]", "+ExecStart="}},
      {"a whole unit", "", "[Unit]\nDescription=x\n", {"[Unit]", "+Description=x"}},
  };
  for (const auto& c : cases) EXPECT_EQ(unit_diff(c.before, c.after), c.expected) << c.name;
}

TEST(UnitDiff, ItsForm) {
  EXPECT_TRUE(is_unit_text("# x\n[Unit]\nA=b\\\n c\n"));
  EXPECT_FALSE(is_unit_text("A=b\n"));
  EXPECT_FALSE(is_unit_text("[Unit]\nnot an assignment\n"));
  EXPECT_FALSE(is_unit_text(""));
  EXPECT_TRUE(is_text("ä\n"));
  EXPECT_FALSE(is_text(std::string_view("a\0b", 3)));
  EXPECT_FALSE(is_text("\xff"));
}

}  // namespace strake::machineconfig::text_diff_test
