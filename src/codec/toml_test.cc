#include "codec/toml.h"

#include <gtest/gtest.h>

#include <string>

#include "codec/testing/expect_parsed.h"

namespace strake::toml::toml_test {

struct TomlCase {
  const char* name;
  std::string text;
  const char* result;  ///< see expect_parsed
};

void expect_toml(const TomlCase& c) { codec::expect_parsed(parse(c.text), c.result, c.name); }

TEST(Toml, Values) {
  const TomlCase cases[] = {
      {"empty document", "", "{}"},
      {"only a comment", "# nothing\n\n  # more", "{}"},
      {"booleans", "a = true\nb = false # no", R"({"a":true,"b":false})"},
      {"integers", "a = [0, -0, +99, -17, 1_000, 9223372036854775807, -9223372036854775808]",
       R"({"a":[0,0,99,-17,1000,9223372036854775807,-9223372036854775808]})"},
      {"integers of other bases", "a = [0xDEAD_beef, 0o755, 0b1101]", R"({"a":[3735928559,493,13]})"},
      {"floats", "a = [1.5, -0.25, 5e+2, 1E2, 6.5e-1, 1_0.2_5]", R"({"a":[1.5,-0.25,500,100,0.65,10.25]})"},
      {"dates and times stay text",
       "a = [1979-05-27T07:32:00Z, 1979-05-27 07:32:00.999-07:00, 1979-05-27t07:32:60, 1979-05-27, 07:32:00.5]",
       R"({"a":["1979-05-27T07:32:00Z","1979-05-27 07:32:00.999-07:00","1979-05-27t07:32:60","1979-05-27","07:32:00.5"]})"},
      {"leap day", "a = 2024-02-29", R"({"a":"2024-02-29"})"},
      {"basic string", R"(a = "q\" b\\ t\t u\u00e9 U\U0001F600")", R"({"a":"q\" b\\ t\t ué U😀"})"},
      {"literal string", R"(a = 'C:\temp "x"')", R"({"a":"C:\\temp \"x\""})"},
      {"multi-line drops the first break", "a = \"\"\"\n\nx\r\ny\"\"\"", R"({"a":"\nx\ny"})"},
      {"multi-line joins lines", "a = \"\"\"x \\  \n\n   y\\\n\"\"\"", R"({"a":"x y"})"},
      {"multi-line with quotes inside and at the end", "a = \"\"\"\"one\" \"\"two\"\"\"\"\"",
       R"({"a":"\"one\" \"\"two\"\""})"},
      {"multi-line literal", "a = '''\n'x' \\\n''y'''''", R"({"a":"'x' \\\n''y''"})"},
      {"arrays over lines, comments, last comma", "a = [ # first\n 1,\n [\"x\", 'y'], # second\n]",
       R"({"a":[1,["x","y"]]})"},
      {"inline tables", "a = {x = 1, y.z = {}, \"q r\" = [{b = 2}]}", R"({"a":{"x":1,"y":{"z":{}},"q r":[{"b":2}]}})"},
      {"byte order mark and CRLF",
       "\xEF\xBB\xBF"
       "a = 1\r\nb = 2\r\n",
       R"({"a":1,"b":2})"},
  };
  for (const TomlCase& c : cases) expect_toml(c);
}

TEST(Toml, Tables) {
  const TomlCase cases[] = {
      {"bare, quoted and empty keys", "1-a_B = 1\n\"q k\" = 2\n'' = 3\n3.14 = 4",
       R"({"1-a_B":1,"q k":2,"":3,"3":{"14":4}})"},
      {"dotted keys share tables", "a.b.c = 1\na . d = 2\na.b.'e' = 3", R"({"a":{"b":{"c":1,"e":3},"d":2}})"},
      {"headers", "x = 1\n[a.b]\nc = 1\n[ d . \"e.f\" ]\ng = 2", R"({"x":1,"a":{"b":{"c":1}},"d":{"e.f":{"g":2}}})"},
      {"a parent named after its child", "[a.b]\nc = 1\n[a]\nd = 2", R"({"a":{"b":{"c":1},"d":2}})"},
      {"arrays of tables", "[[r]]\nn = 1\n[[r.m]]\nl = 'x'\n[[r.m]]\nl = 'y'\n[[r]]\nn = 2\n[r.t]\nk = 3",
       R"({"r":[{"n":1,"m":[{"l":"x"},{"l":"y"}]},{"n":2,"t":{"k":3}}]})"},
      {"a table below a dotted one", "[f]\na.b = 1\n[f.a.c]\nd = 2", R"({"f":{"a":{"b":1,"c":{"d":2}}}})"},
      {"empty tables and arrays", "[a]\n[[b]]\n[[b]]", R"({"a":{},"b":[{},{}]})"},
  };
  for (const TomlCase& c : cases) expect_toml(c);
}

TEST(Toml, WhatIsDefinedOnceStaysSo) {
  const TomlCase cases[] = {
      {"duplicate key", "a = 1\na = 2", "error: line 2, column 1: duplicate key 'a'"},
      {"a key in two notations", "a = 1\n\"a\" = 2", "error: line 2, column 1: duplicate key 'a'"},
      {"duplicate table", "[a]\n[b]\n[a]",
       "error: line 3, column 2: 'a' is already defined; a table can be defined only once"},
      {"a dotted table named by a header", "[f]\na.b = 1\n[f.a]", "error: line 3, column 4: 'a' is already defined*"},
      {"a dotted key into a named table", "[a.b.c]\nz = 1\n[a]\nb.c.t = 2",
       "error: line 4, column 3: 'c' is already defined; a dotted key cannot add to it"},
      {"a dotted key into a value", "a.b = 1\na.b.c = 2", "error: line 2, column 3: 'b' is already defined*"},
      {"an inline table is complete", "a = {b = 1}\n[a.c]", "error: line 2, column 2: 'a' is already a value*"},
      {"also for dotted keys", "[t]\na = {b = 1}\na.c = 2", "error: line 3, column 1: 'a' is already defined*"},
      {"an array is complete", "a = []\n[[a]]", "error: line 2, column 3: 'a' is already something else*"},
      {"a table is not an array of tables", "[a]\n[[a]]", "error: line 2, column 3: 'a' is already something else*"},
      {"an array of tables is not a table", "[[a]]\n[a]", "error: line 2, column 2: 'a' is already defined*"},
      {"nor takes dotted keys", "[[a.b]]\n[a]\nb.c = 1", "error: line 3, column 1: 'b' is already defined*"},
  };
  for (const TomlCase& c : cases) expect_toml(c);
}

TEST(Toml, ErrorsNameThePlaceAndWhatIsWrong) {
  const TomlCase cases[] = {
      {"no value", "a = \nb = 1", "error: line 1, column 5: a value is expected, but the line ends"},
      {"no key", "= 1", "error: line 1, column 1: a key is expected, but there is '='"},
      {"no equals sign", "a\n", "error: line 1, column 2: the key should be followed by '=', but the line ends"},
      {"two values on a line", "a = 1 b = 2", "error: line 1, column 7: the line should end here, but there is 'b'"},
      {"text without quotes", "a = yes", "error: line 1, column 5: 'yes' is not a value; text needs quotes"},
      {"leading zero", "a = 0755", "error: line 1, column 5: '0755' has a leading zero"},
      {"integer range", "a = 9223372036854775808",
       "error: line 1, column 5: '9223372036854775808' is out of the range*"},
      {"float range", "a = 1e999", "error: line 1, column 5: '1e999' is out of the range*"},
      {"infinity", "a = -inf", "error: line 1, column 5: '-inf' has no JSON form; put it in quotes if text is meant"},
      {"underscore at the end", "a = 1_", "error: line 1, column 5: '1_' is not a value*"},
      {"point without digits", "a = 1.", "error: line 1, column 5: '1.' is not a value*"},
      {"no such day", "a = 2023-02-29", "error: line 1, column 5: '2023-02-29' is not a value*"},
      {"no such time", "a = 24:00:00", "error: line 1, column 5: '24:00:00' is not a value*"},
      {"open string", "a = \"x\nb = 1", "error: line 1, column 5: the string is not closed on its line"},
      {"open multi-line string", "a = 1\nb = \"\"\"x\n", "error: line 2, column 5: the string is not closed"},
      {"unknown escape", R"(a = "\x41")", R"(error: line 1, column 6: unknown escape*)"},
      {"escape of a surrogate", R"(a = "\ud800")", "error: line 1, column 6: the escape names no Unicode character"},
      {"short escape", R"(a = "\u12")", "error: line 1, column 6: the escape needs 4 hexadecimal digits"},
      {"control character", "a = \"\x01\"", "error: line 1, column 6: a string cannot contain control characters*"},
      {"control character in a comment", "# \x02", "error: line 1, column 3: a comment cannot contain*"},
      {"a lone carriage return", "a = 1\rb = 2",
       "error: line 1, column 6: the line should end here, but there is the control character 0x0d"},
      {"open array", "a = [1, 2",
       "error: line 1, column 10: the array should go on with ',' or end with ']', but the text ends"},
      {"inline table over lines", "a = {b = 1,\nc = 2}",
       "error: line 1, column 12: a key is expected, but the line ends"},
      {"last comma of an inline table", "a = {b = 1,}",
       "error: line 1, column 12: a key is expected, but there is '}'"},
      {"open header", "[a\nb = 1", "error: line 1, column 3: the table name should end with ']', but the line ends"},
      {"blank in the brackets", "[ [a]]", "error: line 1, column 3: a key is expected, but there is '['"},
      {"multi-line key", "\"\"\"a\"\"\" = 1", "error: line 1, column 1: a key cannot be a multi-line string"},
      {"columns count characters", "é = 1",
       "error: line 1, column 1: a key is expected, but there is a character that is not ASCII"},
      {"not UTF-8", "a = 1\nb = '\xFF'", "error: line 2: the text is not UTF-8"},
  };
  for (const TomlCase& c : cases) expect_toml(c);
}

TEST(Toml, Limits) {
  const auto repeat = [](std::string_view text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  };
  const TomlCase cases[] = {
      {"deep arrays", "a = " + repeat("[", 1000),
       "error: line 1, column 105: nested deeper than the limit of 100 levels"},
      {"deep inline tables", "a = " + repeat("{b=", 1000), "error: line 1, column 305: nested deeper*"},
      {"long headers", "[" + repeat("a.", 1000) + "a]",
       "error: line 1, column 203: a key of more than the limit of 100 parts"},
      {"arrays below a deep table", "[" + repeat("a.", 90) + "a]\nx = " + repeat("[", 50),
       "error: line 2, column 14: nested deeper*"},
      {"many values", "a = [" + repeat("1,", 200'001) + "]",
       "error: line 1, column 400002: more values than the limit of 200000"},
      {"long text", repeat("#", (2 << 20) + 1), "error: TOML text of 2097153 bytes exceeds the limit of 2097152 bytes"},
  };
  for (const TomlCase& c : cases) {
    expect_toml(c);
    EXPECT_EQ(parse(c.text).error().code(), Code::kExhausted) << c.name;
  }
}

TEST(Toml, WrittenAsTheContainerToolsWriteTheirs) {
  const json::Value document = *json::parse(
      R"({"registry":[{"prefix":"","location":"a.example","mirror":[{"location":"b.example/x"},{"location":"c"}]},)"
      R"({"location":"d","blocked":true}],"unqualified-search-registries":["x","y"],"left-out":null,)"
      R"("storage":{"options":{"size":"8G","odd key":"say \"hi\"\\\n"},"n":7,"f":2.0}})");
  EXPECT_EQ(emit(document.get_object()), R"(unqualified-search-registries = ["x", "y"]

[[registry]]
  prefix = ""
  location = "a.example"

  [[registry.mirror]]
    location = "b.example/x"

  [[registry.mirror]]
    location = "c"

[[registry]]
  location = "d"
  blocked = true

[storage]
  n = 7
  f = 2.0

  [storage.options]
    size = "8G"
    "odd key" = "say \"hi\"\\\n"
)");
}

TEST(Toml, WhatIsWrittenReadsTheSame) {
  const char* const documents[] = {"",
                                   "a = 1",
                                   "a = []",
                                   "a = [[], [1, 'x'], {b = 1}]",
                                   "[a]\n[a.b]\n[[c]]\n[[c]]\nd = 1.5\n[[c.e]]",
                                   "'' = 'empty key'\n'a.b' = 1\n['x y'.z]\nq = true",
                                   "a = \"\\u0001\\u007f\\u00e9\\t\"",
                                   "a = [{b = {c = []}}, 1]",
                                   "a = 1e300\nb = -0.0\nc = 9223372036854775807"};
  for (const char* text : documents) {
    const auto document = parse(text);
    ASSERT_TRUE(document.ok()) << text;
    const std::string written = emit(document->get_object());
    const auto again = parse(written);
    ASSERT_TRUE(again.ok()) << written << again.error().to_string();
    EXPECT_EQ(json::write_canonical(*again), json::write_canonical(*document)) << written;
  }
}

}  // namespace strake::toml::toml_test
