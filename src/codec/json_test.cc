#include "codec/json.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "codec/json_indent.h"

namespace strake::json::json_test {

Value parsed(std::string_view text) {
  auto value = parse(text);
  EXPECT_TRUE(value.ok()) << text << ": " << (value.ok() ? "" : value.error().to_string());
  return value.ok() ? *std::move(value) : Value();
}

std::string parse_failure(std::string_view text, const ParseLimits& limits = {}) {
  const auto value = parse(text, limits);
  return value.ok() ? "parsed as " + write(*value) : value.error().to_string();
}

TEST(JsonParse, KeepsWhatIsWritten) {
  const char* const cases[] = {
      "null",
      "true",
      "false",
      "0",
      "-0",
      "-1",
      "9223372036854775807",
      "-9223372036854775808",
      "9223372036854775808",
      "18446744073709551615",
      "1.5",
      "-0.25",
      "1e-7",
      "1e+21",
      R"("")",
      R"("a\"b\\c\n\t\b\f\r\u0001")",
      R"("é ü 漢 😀")",
      "[]",
      "{}",
      R"({"b":1,"a":[{"c":null}],"":"<&>"})",
  };
  for (const char* text : cases) EXPECT_EQ(write(parsed(text)), text);
}

TEST(JsonParse, IntegersAreExact) {
  EXPECT_EQ(parsed("9007199254740993").as_int64(), 9007199254740993);
  EXPECT_EQ(parsed("9223372036854775807").as_int64(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parsed("18446744073709551615").as_uint64(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_TRUE(parsed("18446744073709551616").is_double());
  EXPECT_TRUE(parsed("1.0").is_double());
}

TEST(JsonParse, DoublesAreCorrectlyRounded) {
  // Each of these goes wrong when digits are accumulated and scaled without care.
  EXPECT_EQ(parsed("9007199254740993.0").as_double(), 9007199254740992.0);
  EXPECT_EQ(parsed("7.2057594037927933e16").as_double(), 72057594037927936.0);
  EXPECT_EQ(parsed("2.2250738585072011e-308").as_double(), 2.2250738585072011e-308);
  EXPECT_EQ(parsed("1.7976931348623157e308").as_double(), std::numeric_limits<double>::max());
  EXPECT_EQ(parsed("0.1").as_double(), 0.1);
  EXPECT_EQ(parsed("1e-400").as_double(), 0.0);
  EXPECT_TRUE(std::signbit(parsed("-1e-400").as_double()));
}

TEST(JsonParse, ErrorsSayWhereAndWhat) {
  struct Case {
    const char* text;
    const char* error;
  };
  const Case cases[] = {
      {"", "line 1, column 1: the document is empty"},
      {"{\"a\":1,\n \"b\" 2}", "line 2, column 6: unexpected '2'"},
      {"[1,2", "line 1, column 5: the text ends too early"},
      {"{} x", "line 1, column 4: unexpected text after the document"},
      {"[1]\n\n{}", "line 3, column 1: unexpected text after the document"},
      {"[1,]", "line 1, column 4: unexpected ']'"},
      {"['a']", "line 1, column 2: unexpected '''"},
      {"[\"é\", nul]", "line 1, column 7: unexpected 'n'"},
      {"[1e999]", "line 1, column 7: number out of range"},
      {"[1] // no comments", "line 1, column 5: unexpected text after the document"},
  };
  for (const Case& c : cases) EXPECT_EQ(parse_failure(c.text), c.error) << c.text;
}

TEST(JsonParse, RefusesWhatIsNotJson) {
  const char* const cases[] = {"NaN",
                               "Infinity",
                               "+1",
                               "01",
                               ".5",
                               "1.",
                               "0x10",
                               "\"\t\"",
                               "\"\\x41\"",
                               "\"\\ud800\"",
                               "\"\xff\"",
                               "\"\xc0\xaf\"",
                               "{a:1}",
                               "\"\xed\xa0\x80\"",
                               "[1 2]",
                               "{\"a\"}",
                               "\xef\xbb\xbf{}",
                               "tru",
                               "\"abc"};
  for (const char* text : cases) EXPECT_FALSE(parse(text).ok()) << text;
}

TEST(JsonParse, RefusesDuplicateKeys) {
  EXPECT_EQ(parse_failure("{\"a\":1,\n\"b\":2,\n\"a\":3}"), "line 3, column 1: duplicate key \"a\" (first at line 1)");
  EXPECT_EQ(parse_failure("[{},{\"x\":{\"k\":1,\n\"k\":1}}]"),
            "line 2, column 1: duplicate key \"k\" (first at line 1)");
  // The same key, once with an escape; nested inside a value that is itself a duplicate; in a large object.
  EXPECT_EQ(parse_failure(R"({"a\"b":1,"\u0061\"b":2})"),
            "line 1, column 11: duplicate key \"a\\\"b\" (first at line 1)");
  EXPECT_NE(parse_failure(R"({"a":{"b":1,"c":2},"a":{"b":1,"c":2,"d":3}})").find("duplicate"), std::string::npos);
  std::string large = "{";
  for (int i = 0; i < 5000; ++i) large += fmt::format("\"k{}\":{},\n", i, i);
  EXPECT_TRUE(parse(large + "\"last\":0}").ok());
  EXPECT_NE(parse_failure(large + "\"k77\":0}").find("duplicate key \"k77\" (first at line 78)"), std::string::npos);
  // Equal keys in different objects are no duplicates.
  EXPECT_TRUE(parse(R"({"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]})").ok());
}

TEST(JsonParse, Limits) {
  const std::string deep_enough = std::string(100, '[') + std::string(100, ']');
  EXPECT_TRUE(parse(deep_enough).ok());
  const auto too_deep = parse("[" + deep_enough + "]");
  ASSERT_FALSE(too_deep.ok());
  EXPECT_EQ(too_deep.error().code(), Code::kExhausted);
  EXPECT_NE(too_deep.error().message().find("limit of 100 levels"), std::string::npos);
  EXPECT_FALSE(parse(std::string(1'000'000, '[')).ok());

  const auto too_large = parse("\"123456\"", {.max_bytes = 7});
  ASSERT_FALSE(too_large.ok());
  EXPECT_EQ(too_large.error().code(), Code::kExhausted);
  EXPECT_TRUE(parse("\"123456\"", {.max_bytes = 8}).ok());
}

TEST(JsonWrite, NumbersAsGoWritesThem) {
  struct Case {
    double number;
    const char* text;
  };
  const Case cases[] = {
      {1.0, "1"},
      {-1.0, "-1"},
      {0.0, "0"},
      {-0.0, "-0"},
      {0.1, "0.1"},
      {100.0, "100"},
      {1e20, "100000000000000000000"},
      {123456789012345680000.0, "123456789012345680000"},
      {1e21, "1e+21"},
      {1.5e300, "1.5e+300"},
      {0.000001, "0.000001"},
      {0.0000001, "1e-7"},
      {1.25e-9, "1.25e-9"},
      {5e-324, "5e-324"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {3.141592653589793, "3.141592653589793"},
      {9007199254740992.0, "9007199254740992"},
      {9007199254740994.0, "9007199254740994"},
      {std::numeric_limits<double>::infinity(), "null"},
      {std::numeric_limits<double>::quiet_NaN(), "null"},
  };
  for (const Case& c : cases) EXPECT_EQ(write(Value(c.number)), c.text);
}

TEST(JsonWrite, EscapesOnlyWhatJsonDemands) {
  EXPECT_EQ(write(Value("<a href='x'>&\x7f\xe2\x80\xa8/")), "\"<a href='x'>&\x7f\xe2\x80\xa8/\"");
  EXPECT_EQ(write(Value(std::string("\0\x1f", 2))), R"("\u0000\u001f")");
}

TEST(JsonWrite, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(write(Value("a\xff"
                        "b\xc3\xa9\x80")),
            "\"a\xef\xbf\xbd"
            "b\xc3\xa9\xef\xbf\xbd\"");
  EXPECT_EQ(write(Value("\xe2\x82")), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST(JsonWrite, CanonicalSortsBytewiseAtEveryLevel) {
  const Value value = parsed(R"({"b":{"z":1,"a":2},"a":[{"y":1,"x":2}],"B":1,"é":1,"":0})");
  EXPECT_EQ(write_canonical(value), R"({"":0,"B":1,"a":[{"x":2,"y":1}],"b":{"a":2,"z":1},"é":1})");
  EXPECT_EQ(write(value), R"({"b":{"z":1,"a":2},"a":[{"y":1,"x":2}],"B":1,"é":1,"":0})");
}

TEST(JsonWrite, Pretty) {
  EXPECT_EQ(write_pretty(parsed(R"({"a":[1,{}],"b":{},"c":{"d":[]}})")),
            "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": {},\n  \"c\": {\n    \"d\": []\n  }\n}\n");
  EXPECT_EQ(write_pretty(Value(1)), "1\n");
}

TEST(JsonWrite, PartByPartGivesTheSameText) {
  Array items;
  for (int i = 0; i < 5000; ++i) items.push_back(Object{{"number", i}, {"text", std::string(40, 'x')}});
  const Value large = Object{{"items", items}, {"end", true}};
  std::string joined;
  std::size_t parts = 0, longest = 0;
  write_indented_to(large, 2, [&](std::string_view part) {
    joined += part;
    longest = std::max(longest, part.size());
    ++parts;
  });
  EXPECT_EQ(joined, write_pretty(large));
  EXPECT_GT(parts, 3U);
  EXPECT_LT(longest, 100'000U);
}

TEST(JsonFind, WalksObjects) {
  Value root =
      parsed(R"({"spec":{"name":"n","count":3,"half":0.5,"whole":420.0,"on":true,"big":18446744073709551615}})");
  EXPECT_EQ(find_string(root, {"spec", "name"}), "n");
  EXPECT_EQ(find_int(root, {"spec", "count"}), 3);
  EXPECT_EQ(find_int(root, {"spec", "whole"}), 420);
  EXPECT_EQ(find_int(root, {"spec", "half"}), std::nullopt);
  EXPECT_EQ(find_int(root, {"spec", "big"}), std::nullopt);
  EXPECT_EQ(find_bool(root, {"spec", "on"}), true);
  EXPECT_EQ(find_string(root, {"spec", "count"}), std::nullopt);
  EXPECT_EQ(find(root, {"spec", "name", "deeper"}), nullptr);
  EXPECT_EQ(find(root, {"status"}), nullptr);
  EXPECT_EQ(find(root, {}), &root);
  *find(root, {"spec", "name"}) = "changed";
  EXPECT_EQ(find_string(root, {"spec", "name"}), "changed");
}

TEST(JsonFind, EnsureCreatesObjectsOnTheWay) {
  Value root = parsed(R"({"a":1})");
  ensure(root, {"a", "b", "c"}) = 2;
  EXPECT_EQ(write(root), R"({"a":{"b":{"c":2}}})");
  EXPECT_EQ(&ensure(root, {"a", "b"}), find(root, {"a", "b"}));
  EXPECT_TRUE(ensure(root, {"new"}).is_null());
}

TEST(JsonFind, TypeNames) {
  EXPECT_EQ(type_name(parsed("[]")), "array");
  EXPECT_EQ(type_name(parsed("18446744073709551615")), "integer");
  EXPECT_EQ(type_name(parsed("1.5")), "number");
  EXPECT_EQ(type_name(parsed("false")), "boolean");
}

TEST(JsonProperty, EveryFiniteDoubleSurvives) {
  EXPECT_TRUE(rc::check("parse(write(d)) == d", [](std::uint64_t bits) {
    const auto number = std::bit_cast<double>(bits);
    RC_PRE(std::isfinite(number));
    RC_ASSERT(parse(write(Value(number)))->to_number<double>() == number);
  }));
}

TEST(JsonProperty, EveryStringComesOutAsReadableJson) {
  EXPECT_TRUE(rc::check("write(s) parses; valid UTF-8 survives", [](const std::string& bytes) {
    const auto read_back = parse(write(Value(bytes)));
    RC_ASSERT(read_back.ok());
    RC_ASSERT(*parse(write(*read_back)) == *read_back);
  }));
}

}  // namespace strake::json::json_test
