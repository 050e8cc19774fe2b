#include "codec/yaml_node.h"

#include <gtest/gtest.h>

namespace strake::yaml::yaml_node_test {

Node only(std::string_view text) {
  auto documents = parse_nodes(text);
  EXPECT_TRUE(documents.ok()) << documents.error().to_string();
  EXPECT_EQ(documents->size(), 1u);
  return std::move(documents->front());
}

TEST(YamlNode, ScalarsKeepTheirText) {
  const Node node = only("a: 1.0\nb: 0644\nc: \"yes\"\nd: ~\ne: !!str 5\nf: |\n  x\n");
  EXPECT_EQ(node.find("a")->text, "1.0");
  EXPECT_TRUE(node.find("a")->is_plain);
  EXPECT_EQ(node.find("b")->text, "0644");
  EXPECT_EQ(node.find("c")->text, "yes");
  EXPECT_FALSE(node.find("c")->is_plain);
  EXPECT_EQ(node.find("d")->kind, Node::Kind::kNull);
  EXPECT_FALSE(node.find("e")->is_plain);
  EXPECT_EQ(node.find("f")->text, "x\n");
  EXPECT_EQ(node.find("g"), nullptr);
}

TEST(YamlNode, EverythingHasItsLine) {
  const Node node = only("# comment\r\na:\r\n  - x\r\n  -\r\n    b: 1\r\n");
  EXPECT_EQ(node.line, 2u);
  EXPECT_EQ(node.find("a")->key_line, 2u);
  EXPECT_EQ(node.find("a")->line, 3u);
  EXPECT_EQ(node.find("a")->children[1].line, 5u);
  EXPECT_EQ(node.find("a")->children[1].find("b")->key_line, 5u);
}

TEST(YamlNode, WhatIsWrittenWinsOverWhatIsMerged) {
  const Node node = only("x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\nz:\n  a: 3\n  <<: [*x, *y]\nw: *x\n");
  const Node& merged = *node.find("z");
  EXPECT_TRUE(merged.has_merge);
  EXPECT_EQ(merged.find("a")->text, "3");
  EXPECT_FALSE(merged.find("a")->is_merged);
  EXPECT_EQ(merged.find("b")->text, "1");
  EXPECT_TRUE(merged.find("b")->is_merged);
  EXPECT_EQ(merged.find("c")->text, "2");
  EXPECT_TRUE(node.find("w")->is_alias);
  EXPECT_EQ(node.find("w")->find("a")->text, "1");
}

TEST(YamlNode, DocumentsAreThoseOfTheStream) {
  const std::string_view text = "---\n---\na: 1\n---\n# nothing\n---\nb\n";
  const auto documents = parse_nodes(text);
  ASSERT_TRUE(documents.ok());
  EXPECT_EQ(documents->size(), parse_stream(text)->size());
  EXPECT_EQ((*documents)[0].line, 3u);
}

TEST(YamlNode, AliasesAreBounded) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    text +=
        fmt::format("a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}]\n", i, i - 1);
  }
  EXPECT_FALSE(parse_nodes(text).ok());
  EXPECT_FALSE(parse_nodes("a: 1\na: 2\n").ok());
  EXPECT_FALSE(parse_nodes("a: [").ok());
}

}  // namespace strake::yaml::yaml_node_test
