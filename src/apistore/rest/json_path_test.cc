#include "apistore/rest/json_path.h"

#include <gtest/gtest.h>

namespace strake::apistore::rest::json_path_test {

const char* const kNode = R"({
  "metadata": {"name": "n1", "labels": {"example.com/zone": "a", "a'b": "quoted"}},
  "spec": {"taints": [{"key": "one"}, {"key": "two", "value": "x"}], "ports": [80, 443], "on": true},
  "status": {"conditions": [
    {"type": "Ready", "status": "True"}, {"type": "Disk", "status": "False", "code": 7}, {"type": "Disk", "status": "second"}]}
})";

struct PathCase {
  const char* name;
  const char* path;
  const char* expected;  ///< JSON, or "absent"
};

class JsonPathTest : public testing::TestWithParam<PathCase> {};

TEST_P(JsonPathTest, LeadsToTheFirstMatch) {
  const auto root = json::parse(kNode);
  ASSERT_TRUE(root.ok());
  const auto path = JsonPath::parse(GetParam().path);
  ASSERT_TRUE(path.ok()) << path.error().to_string();
  const json::Value* found = path->first(*root);
  EXPECT_EQ(found == nullptr ? "absent" : json::write(*found), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    All, JsonPathTest,
    testing::Values(PathCase{"Fields", ".metadata.name", R"("n1")"}, PathCase{"Missing", ".metadata.uid", "absent"},
                    PathCase{"ThroughAScalar", ".metadata.name.x", "absent"},
                    PathCase{"EscapedDots", R"(.metadata.labels.example\.com/zone)", R"("a")"},
                    PathCase{"SingleQuotes", ".metadata.labels['example.com/zone']", R"("a")"},
                    PathCase{"DoubleQuotes", R"(.metadata["labels"]["example.com/zone"])", R"("a")"},
                    PathCase{"EscapedQuote", R"(.metadata.labels['a\'b'])", R"("quoted")"},
                    PathCase{"Index", ".spec.ports[1]", "443"}, PathCase{"IndexFromTheEnd", ".spec.ports[-1]", "443"},
                    PathCase{"IndexBeyond", ".spec.ports[2]", "absent"},
                    PathCase{"IndexBeforeTheStart", ".spec.ports[-3]", "absent"},
                    PathCase{"Everything", ".spec.taints[*].value", R"("x")"},
                    PathCase{"EveryMember", ".metadata.labels.*", R"("a")"},
                    PathCase{"FilterEqual", R"(.status.conditions[?(@.type=="Disk")].status)", R"("False")"},
                    PathCase{"FilterSingleQuotes", ".status.conditions[?(@.type=='Ready')].status", R"("True")"},
                    PathCase{"FilterNotEqual", R"(.status.conditions[?(@.type != "Ready")].status)", R"("False")"},
                    PathCase{"FilterNumber", ".status.conditions[?(@.code==7)].type", R"("Disk")"},
                    PathCase{"FilterExists", ".spec.taints[?(@.value)].key", R"("two")"},
                    PathCase{"FilterNothing", R"(.status.conditions[?(@.type=="None")].status)", "absent"},
                    PathCase{"FilterOnNoList", R"(.metadata[?(@.type=="None")])", "absent"},
                    PathCase{"Boolean", ".spec.on", "true"}),
    [](const auto& tested) { return tested.param.name; });

TEST(JsonPathErrors, NameTheColumn) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"", "is empty"},
      {"name", "column 1: expected '.' or '['"},
      {".a.", "column 4: a field name is missing"},
      {".a[", "expected a list position"},
      {".a[1:2]", "slices and unions are not supported"},
      {".a['b", "the closing quote is missing"},
      {R"(.a\)", "nothing follows the backslash"},
      {".a[?(b==1)]", "expected '@'"},
      {".a[?(@.b<1)]", "expected '==', '!=' or ')]'"},
      {".a[?(@.b==word)]", "expected a quoted text"},
      {".a[?(@.b[?(@.c)])]", "a filter inside a filter"},
  };
  for (const auto& [text, message] : cases) {
    const auto path = JsonPath::parse(text);
    ASSERT_FALSE(path.ok()) << text;
    EXPECT_EQ(path.error().code(), Code::kInvalidArgument);
    EXPECT_NE(path.error().message().find(message), std::string::npos) << text << ": " << path.error().message();
  }
}

TEST(JsonPathErrors, LongPathsAreRefused) {
  std::string steps;
  for (int i = 0; i < 100; ++i) steps += ".a";
  EXPECT_FALSE(JsonPath::parse(steps).ok());
  EXPECT_FALSE(JsonPath::parse("." + std::string(5000, 'a')).ok());
}

}  // namespace strake::apistore::rest::json_path_test
