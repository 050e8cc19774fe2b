#include "codec/yaml_locate.h"

#include <gtest/gtest.h>

namespace strake::yaml::yaml_locate_test {

struct Asked {
  WantedField wanted;
  std::size_t line, column;
};

void expect_places(std::string_view text, const std::vector<Asked>& cases) {
  std::vector<WantedField> wanted;
  for (const Asked& asked : cases) wanted.push_back(asked.wanted);
  const auto found = locate(text, wanted);
  ASSERT_TRUE(found.ok()) << found.error().to_string();
  ASSERT_EQ(found->size(), cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ((*found)[i].line, cases[i].line) << i;
    EXPECT_EQ((*found)[i].column, cases[i].column) << i;
  }
}

WantedField key(std::size_t document, json::Steps steps) { return {document, {std::move(steps), true}}; }
WantedField value(std::size_t document, json::Steps steps) { return {document, {std::move(steps), false}}; }

TEST(YamlLocate, BlockStyle) {
  expect_places(
      "# head\n"
      "kind: A\n"
      "spec:\n"
      "  list:\n"
      "  - path: /a\n"
      "    mode: 644\n"
      "  -\n"
      "    path: |\n"
      "      text: no key\n"
      "    \"quoted \\u0041\": x\n"
      "  1.5: number\n",
      {
          {key(0, {}), 2, 1},
          {key(0, {"spec"}), 3, 1},
          {value(0, {"spec"}), 4, 3},
          {key(0, {"spec", "list", "[0]"}), 5, 5},
          {key(0, {"spec", "list", "[0]", "mode"}), 6, 5},
          {value(0, {"spec", "list", "[0]", "mode"}), 6, 11},
          {key(0, {"spec", "list", "[1]", "path"}), 8, 5},
          {key(0, {"spec", "list", "[1]", "quoted A"}), 10, 5},
          {key(0, {"spec", "1.5"}), 11, 3},
          // The nearest that exists: a member, a list whose item is not there, a scalar with nothing inside.
          {key(0, {"spec", "missing", "deeper"}), 3, 1},
          {key(0, {"spec", "list", "[7]", "path"}), 4, 3},
          {key(0, {"spec", "list", "[0]", "path", "inside"}), 5, 5},
          {key(0, {"spec", "list", "0"}), 4, 3},
          {key(0, {"nothing"}), 2, 1},
      });
}

TEST(YamlLocate, FlowStyle) {
  expect_places("{kind: A, spec: {list: [{path: /a,\n mode: 644}, {path: /b}]}}\n",
                {
                    {key(0, {"spec"}), 1, 11},
                    {key(0, {"spec", "list", "[0]", "mode"}), 2, 2},
                    {key(0, {"spec", "list", "[1]"}), 2, 14},
                    {value(0, {"spec", "list", "[1]", "path"}), 2, 21},
                });
}

TEST(YamlLocate, AnchorsAliasesAndMerges) {
  expect_places(
      "base: &base\n"
      "  mode: 644\n"
      "  user: root\n"
      "other: &other\n"
      "  mode: 600\n"
      "  group: g\n"
      "files:\n"
      "- <<: *base\n"
      "  path: /a\n"
      "- <<: [*other, *base]\n"
      "  user: me\n"
      "- *base\n"
      "- mode: 1\n"
      "  <<: *base\n"
      "whole: *base\n",
      {
          {key(0, {"files", "[0]", "mode"}), 2, 3},
          {key(0, {"files", "[0]", "path"}), 9, 3},
          {key(0, {"files", "[1]", "mode"}), 5, 3},
          {key(0, {"files", "[1]", "group"}), 6, 3},
          {key(0, {"files", "[1]", "user"}), 11, 3},
          {key(0, {"files", "[2]"}), 12, 3},
          {key(0, {"files", "[2]", "user"}), 3, 3},
          {key(0, {"files", "[3]", "mode"}), 2, 3},
          {key(0, {"whole"}), 15, 1},
          {key(0, {"whole", "mode"}), 2, 3},
      });
}

TEST(YamlLocate, DocumentsAreCountedAsTheParserCountsThem) {
  const std::string_view text =
      "---\n# nothing here\n---\na: 1\n---\nnull\n---\n~\n---\nb:\n  c: 2\n...\n---\n{d: 3}\n";
  const auto documents = parse_stream(text);
  ASSERT_TRUE(documents.ok());
  ASSERT_EQ(documents->size(), 3u);
  expect_places(text, {
                          {key(0, {"a"}), 4, 1},
                          {key(1, {"b", "c"}), 11, 3},
                          {key(2, {"d"}), 14, 2},
                          {key(3, {"d"}), 15, 1},
                          {key(1, {}), 10, 1},
                      });
}

TEST(YamlLocate, JsonLineEndsAndTheByteOrderMark) {
  expect_places("\xEF\xBB\xBF{\n \"a\": {\n  \"b\": [1,\n 2]}}", {
                                                                     {key(0, {"a", "b"}), 3, 3},
                                                                     {key(0, {"a", "b", "[1]"}), 4, 2},
                                                                     {key(0, {"a", "missing", "b"}), 2, 2},
                                                                     {key(1, {"a"}), 4, 6},
                                                                 });
  expect_places("a: 1\r\nb:\r\n  c: 2\rd: 3\n", {{key(0, {"b", "c"}), 3, 3}, {key(0, {"d"}), 4, 1}});
  expect_places("\u00e9: {x: 1}\n", {{key(0, {"\u00e9", "x"}), 1, 5}});
}

TEST(YamlLocate, ManyQuestionsAboutOneLongListCostNoMoreThanTheList) {
  constexpr std::size_t kItems = 20'000;
  std::string text = "list:\n";
  std::vector<WantedField> wanted;
  for (std::size_t i = 0; i < kItems; ++i) {
    text += "- a: 1\n";
    wanted.push_back(key(0, {"list", fmt::format("[{}]", i), "a"}));
  }
  const auto found = locate(text, wanted);
  ASSERT_TRUE(found.ok());
  for (std::size_t i = 0; i < kItems; ++i) ASSERT_EQ((*found)[i].line, i + 2);
}

TEST(YamlLocate, ATextThatDoesNotParseIsAnError) { EXPECT_FALSE(locate("a: [", {}).ok()); }

}  // namespace strake::yaml::yaml_locate_test
