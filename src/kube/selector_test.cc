#include "kube/selector.h"

#include <gtest/gtest.h>

namespace strake::kube::selector_test {

TEST(Selector, ParsesToItsCanonicalText) {
  struct Case {
    const char* text;
    const char* canonical;
  };
  const Case cases[] = {
      {"", ""},
      {"  ", ""},
      {"a=b", "a=b"},
      {"a==b", "a=b"},
      {" a = b , c != d ", "a=b,c!=d"},
      {"c,!b,a", "a,!b,c"},
      {"a in (z,y,y)", "a in (y,z)"},
      {"a in (z)", "a=z"},
      {"a notin (z)", "a!=z"},
      {"a notin (z,y)", "a notin (y,z)"},
      {"a in ()", "a="},
      {"a in (,b)", "a in (,b)"},
      {"a=", "a="},
      {"a=,b", "a=,b"},
      {"size>3,size<10", "size>3,size<10"},
      {"in in (in,notin)", "in in (in,notin)"},
      {"a=notin", "a=notin"},
      {"a=b,a=b", "a=b"},
      {"example.com/Name_1.x=V-1", "example.com/Name_1.x=V-1"},
      {"node-role.kubernetes.io/worker", "node-role.kubernetes.io/worker"},
  };
  for (const Case& c : cases) {
    const Result<Selector> selector = Selector::parse(c.text);
    ASSERT_TRUE(selector.ok()) << c.text << ": " << selector.error().to_string();
    EXPECT_EQ(selector->to_string(), c.canonical) << c.text;
    const Result<Selector> again = Selector::parse(selector->to_string());
    ASSERT_TRUE(again.ok()) << c.text;
    EXPECT_EQ(*again, *selector) << c.text;
  }
}

TEST(Selector, SaysWhatIsWrong) {
  struct Case {
    std::string text;
    const char* message;
  };
  const Case cases[] = {
      {"a=b,", "found the end, expected a label key after ','"},
      {",a", "found ',' at column 1, expected '!' or a label key"},
      {"a b", "found 'b' at column 3, expected one of in, notin, =, ==, !=, > or <"},
      {"a in b", "found 'b' at column 6, expected '('"},
      {"a in (b", "found the end, expected ',' or ')'"},
      {"a in (b c)", "found 'c' at column 9, expected ',' or ')'"},
      {"a=b c", "found 'c' at column 5, expected ',' or the end"},
      {"!", "found the end, expected a label key after '!'"},
      {"!!a", "found '!' at column 2, expected a label key after '!'"},
      {"a=(b)", "found '(' at column 3, expected a label value"},
      {"a>b", "needs exactly one integer"},
      {"a>", "needs exactly one integer"},
      {"-a=b", "begin and end with a letter or digit"},
      {"a=b-", "begin and end with a letter or digit"},
      {"/a=b", "the prefix must be a DNS subdomain"},
      {"Upper.com/a=b", "the prefix must be a DNS subdomain"},
      {"a.-b/c", "the prefix must be a DNS subdomain"},
      {"a..b/c", "the prefix must be a DNS subdomain"},
      {"a/b/c", "the name must consist of"},
      {std::string(64, 'a'), "no more than 63 characters"},
      {"a=" + std::string(64, 'b'), "no more than 63 characters"},
      {std::string(254, 'a') + "/b", "at most 253 characters"},
      {std::string(70000, 'a'), "longer than 65536 bytes"},
  };
  for (const Case& c : cases) {
    const Result<Selector> selector = Selector::parse(c.text);
    ASSERT_FALSE(selector.ok()) << c.text;
    EXPECT_EQ(selector.error().code(), Code::kInvalidArgument);
    EXPECT_NE(selector.error().to_string().find(c.message), std::string::npos)
        << c.text << ": " << selector.error().to_string();
  }
}

TEST(Selector, Matches) {
  const Labels web{{"tier", "web"}, {"size", "3"}, {"empty", ""}};
  struct Case {
    const char* text;
    bool matches;
  };
  const Case cases[] = {
      {"", true},
      {"tier=web", true},
      {"tier=db", false},
      {"tier!=db", true},
      {"absent!=db", true},
      {"absent notin (a)", true},
      {"absent=db", false},
      {"absent=", false},
      {"empty=", true},
      {"empty", true},
      {"!empty", false},
      {"!absent", true},
      {"size>2", true},
      {"size>3", false},
      {"size<4", true},
      {"tier>2", false},
      {"absent<9", false},
      {"tier in (db,web)", true},
      {"tier notin (db)", true},
      {"tier=web,size=4", false},
      {"tier", true},
      {"absent", false},
      {"tier notin (web)", false},
  };
  for (const Case& c : cases) {
    const Result<Selector> selector = Selector::parse(c.text);
    ASSERT_TRUE(selector.ok()) << c.text;
    EXPECT_EQ(selector->matches(web), c.matches) << c.text;
  }
}

Result<Selector> from_text(std::string_view text, AbsentSelector absent = AbsentSelector::kMatchesNothing) {
  const Result<json::Value> value = json::parse(text);
  EXPECT_TRUE(value.ok()) << text;
  return Selector::from_json(&*value, absent);
}

TEST(SelectorFromJson, ReadsLabelsAndExpressions) {
  const Result<Selector> selector = from_text(R"({"matchLabels":{"b":"1","a":""},"matchExpressions":[
    {"key":"c","operator":"In","values":["y","x"]},{"key":"d","operator":"NotIn","values":["z"]},
    {"key":"e","operator":"Exists"},{"key":"f","operator":"DoesNotExist","values":[]}]})");
  ASSERT_TRUE(selector.ok()) << selector.error().to_string();
  EXPECT_EQ(selector->to_string(), "a=,b=1,c in (x,y),d!=z,e,!f");
}

TEST(SelectorFromJson, AbsentAndEmptyDiffer) {
  EXPECT_TRUE(Selector::from_json(nullptr, AbsentSelector::kMatchesNothing)->matches_nothing());
  EXPECT_TRUE(Selector::from_json(nullptr, AbsentSelector::kMatchesEverything)->matches_everything());
  EXPECT_TRUE(from_text("null")->matches_nothing());
  EXPECT_TRUE(from_text("{}")->matches_everything());
  EXPECT_FALSE(Selector::nothing().matches({}));
  EXPECT_TRUE(Selector().matches({}));
  // The text of nothing must not select everything when it is sent to a server.
  const Result<Selector> nothing = Selector::parse(Selector::nothing().to_string());
  ASSERT_TRUE(nothing.ok());
  EXPECT_FALSE(nothing->matches({}));
  EXPECT_FALSE(nothing->matches({{"strake.dev/none", ""}}));
}

TEST(SelectorFromJson, NamesTheField) {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {R"([])", "label selector: must be an object, found array"},
      {R"({"matchLabels":[]})", "matchLabels: must be an object"},
      {R"({"matchLabels":{"a":1}})", "matchLabels[a]: must be a string"},
      {R"({"matchLabels":{"a":"-"}})", "matchLabels: values of a: label value \"-\""},
      {R"({"matchExpressions":{}})", "matchExpressions: must be an array"},
      {R"({"matchExpressions":[1]})", "matchExpressions[0]: must be an object, found integer"},
      {R"({"matchExpressions":[{"operator":"In"}]})", "matchExpressions[0]: key: must be a string"},
      {R"({"matchExpressions":[{"key":"a","operator":"Is"}]})", "matchExpressions[0]: operator: \"Is\" is not one of"},
      {R"({"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]}]})", "Gt is not allowed"},
      {R"({"matchExpressions":[{"key":"a","operator":"In"}]})", "must not be empty with the operator In"},
      {R"({"matchExpressions":[{"key":"a","operator":"Exists","values":["b"]}]})",
       "must be empty with the operator Exists"},
      {R"({"matchExpressions":[{"key":"a","operator":"In","values":[1]}]})", "values: must be strings"},
  };
  for (const Case& c : cases) {
    const Result<Selector> selector = from_text(c.text);
    ASSERT_FALSE(selector.ok()) << c.text;
    EXPECT_NE(selector.error().to_string().find(c.message), std::string::npos)
        << c.text << ": " << selector.error().to_string();
  }
}

TEST(FieldSelector, ParsesTerms) {
  using Terms = std::vector<FieldSelector::Term>;
  struct Case {
    const char* text;
    Terms terms;
    const char* canonical;
  };
  const Case cases[] = {
      {"", {}, ""},
      {",,", {}, ""},
      {"metadata.name=x,spec.nodeName!=y",
       {{"metadata.name", true, "x"}, {"spec.nodeName", false, "y"}},
       "metadata.name=x,spec.nodeName!=y"},
      {"a==b", {{"a", true, "b"}}, "a=b"},
      {"a=", {{"a", true, ""}}, "a="},
      {R"(a=x\,y\=z\\)", {{"a", true, R"(x,y=z\)"}}, R"(a=x\,y\=z\\)"},
  };
  for (const Case& c : cases) {
    const Result<FieldSelector> selector = FieldSelector::parse(c.text);
    ASSERT_TRUE(selector.ok()) << c.text << ": " << selector.error().to_string();
    EXPECT_EQ(selector->terms(), c.terms) << c.text;
    EXPECT_EQ(selector->to_string(), c.canonical);
  }
}

TEST(FieldSelector, SaysWhatIsWrong) {
  for (const char* text : {"a", "=a", "!=a", R"(a=\n)", R"(a=b\)", "a=b=c", "a,b=c"}) {
    const Result<FieldSelector> selector = FieldSelector::parse(text);
    ASSERT_FALSE(selector.ok()) << text;
    EXPECT_EQ(selector.error().code(), Code::kInvalidArgument);
  }
}

TEST(FieldSelector, MatchesThroughAGetter) {
  const auto getter = [](std::string_view field) -> std::string { return field == "metadata.name" ? "n" : ""; };
  EXPECT_TRUE(FieldSelector::parse("metadata.name=n,spec.nodeName=")->matches(getter));
  EXPECT_FALSE(FieldSelector::parse("metadata.name!=n")->matches(getter));
  EXPECT_FALSE(FieldSelector::parse("metadata.name=n,spec.nodeName=a")->matches(getter));
  EXPECT_EQ(FieldSelector::parse("a!=b,metadata.name=n")->required_value("metadata.name"), "n");
  EXPECT_EQ(FieldSelector::parse("metadata.name!=n")->required_value("metadata.name"), std::nullopt);
  const Status checked =
      FieldSelector::parse("metadata.name=n,x=y")->check_fields([](std::string_view field) { return field != "x"; });
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().message(), "field label not supported: x");
}

TEST(Selector, OfBoundedSize) {
  json::Array many, values;
  for (std::size_t i = 0; i <= kMaxSelectorRequirements; ++i) {
    many.push_back(json::Object{{"key", fmt::format("k{}", i)}, {"operator", "DoesNotExist"}});
  }
  for (std::size_t i = 0; i <= kMaxSelectorValues; ++i) values.emplace_back(fmt::format("v{}", i));
  const json::Value wide = json::Object{{"matchExpressions", many}};
  const json::Value long_list = json::Object{
      {"matchExpressions", json::Array{json::Object{{"key", "k"}, {"operator", "NotIn"}, {"values", values}}}}};
  for (const json::Value* hostile : {&wide, &long_list}) {
    const auto selector = Selector::from_json(hostile, AbsentSelector::kMatchesNothing);
    ASSERT_FALSE(selector.ok());
    EXPECT_EQ(selector.error().code(), Code::kInvalidArgument);
  }
  many.pop_back();
  const json::Value largest = json::Object{{"matchExpressions", many}};
  EXPECT_TRUE(Selector::from_json(&largest, AbsentSelector::kMatchesNothing).ok());
}

}  // namespace strake::kube::selector_test
