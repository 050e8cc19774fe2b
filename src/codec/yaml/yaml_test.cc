#include "codec/yaml.h"

#include <gtest/gtest.h>

#include <string>

#include "codec/json_patch.h"
#include "codec/testing/expect_parsed.h"

namespace strake::yaml::yaml_test {

struct YamlCase {
  const char* name;
  const char* text;
  const char* result;  ///< see expect_parsed
};

void expect_yaml(const YamlCase& c) { codec::expect_parsed(parse(c.text), c.result, c.name); }

TEST(YamlParse, PlainScalarsResolveByYaml11) {
  const YamlCase cases[] = {
      {"booleans", "[yes, No, on, OFF, true, n, Y, yEs]", R"([true,false,true,false,true,false,true,"yEs"])"},
      {"nulls", "[~, null, NULL, , nUll]", R"([null,null,null,null,"nUll"])"},
      {"integers", "[1, -1, +1, 0x1F, 0b11, 0o17, 017, 1_000, 18446744073709551615, 9223372036854775808]",
       R"([1,-1,1,31,3,15,15,1000,18446744073709551615,9223372036854775808])"},
      {"floats", "[1.5, .5, 1e3, 420.0, 4.2e2, -0.25]", "[1.5,0.5,1000,420,420,-0.25]"},
      {"strings", "[1.2.3, 12:30:45, 2001-01-01, 2001-01-01T00:00:00Z, 08x, a b, 'yes', \"1\"]",
       R"(["1.2.3","12:30:45","2001-01-01","2001-01-01T00:00:00Z","08x","a b","yes","1"])"},
      {"no infinity", "a: .inf", "error: line 1, column 4: .inf has no JSON form; put it in quotes if text is meant"},
      {"no NaN", "a:\n  - .NaN", "error: line 2, column 5: .NaN has no JSON form*"},
  };
  for (const YamlCase& c : cases) expect_yaml(c);
}

TEST(YamlParse, Structure) {
  const YamlCase cases[] = {
      {"nested", "a:\n  b:\n  - c: 1\n    d: [x, {w: z}]\n  - - e\n    - f\n",
       R"({"a":{"b":[{"c":1,"d":["x",{"w":"z"}]},["e","f"]]}})"},
      {"members keep their order", "b: 1\na: 2\n", R"({"b":1,"a":2})"},
      {"empty values", "a:\nb: ''\nc: {}\nd: []\n", R"({"a":null,"b":"","c":{},"d":[]})"},
      {"literal", "a: |\n  x\n   y\n\n  z\nb: |-\n  x\nc: |+\n  x\n\n", R"({"a":"x\n y\n\nz\n","b":"x","c":"x\n\n"})"},
      {"folded", "a: >\n  x\n  y\n\n  z\n", R"({"a":"x y\nz\n"})"},
      {"multi-line plain", "a: x\n  y\n  z\n", R"({"a":"x y z"})"},
      {"double quotes", R"(a: "x\ty\u00e9\x41\U0001F600\0")",
       R"({"a":"x\tyé)"
       "A😀"
       R"(\u0000"})"},
      {"escapes of single characters", R"(a: "é\N\_\L\P\e\/\x85")",
       "{\"a\":\"é\u0085\u00a0\u2028\u2029\\u001b/\u0085\"}"},
      {"single quotes", "a: 'it''s'", R"({"a":"it's"})"},
      {"blanks at the end", "a: 1\n  ", R"({"a":1})"},
      {"comments", "# first\na: 1 # one\n# last\n", R"({"a":1})"},
      {"explicit key", "? a\n: b\n", R"({"a":"b"})"},
      {"explicit key without a value", "? a\n? b", R"({"a":null,"b":null})"},
      {"flow keys without values", "{a, b: , c}", R"({"a":null,"b":null,"c":null})"},
      {"literal without a final line break", "a: |\n  say \"x\"", R"({"a":"say \"x\""})"},
      {"CRLF", "a: 1\r\nb: |\r\n  x\r\n  y\r\n", R"({"a":1,"b":"x\ny\n"})"},
      {"lone CR", "a: b\rc: d\r", R"({"a":"b","c":"d"})"},
      {"BOM",
       "\xEF\xBB\xBF"
       "a: 1",
       R"({"a":1})"},
      {"BOM inside", "a: x\xEF\xBB\xBFy", "{\"a\":\"x\xEF\xBB\xBFy\"}"},
      {"directive", "%YAML 1.1\n---\na: 1\n", R"({"a":1})"},
      {"a newer directive", "%YAML 1.2\n%FOO bar\n---\na: 1\n...\n", R"({"a":1})"},
      {"scalar document", "--- hello\n", R"("hello")"},
      {"tag directive", "%TAG !y! tag:yaml.org,2002:\n---\na: !y!str 1\n", R"({"a":"1"})"},
  };
  for (const YamlCase& c : cases) expect_yaml(c);
}

TEST(YamlParse, JsonIsYaml) {
  const YamlCase cases[] = {
      {"object", "  \n{\"a\": [1, 2.50, \"\\ud83d\\ude00\", true, null]}\n", R"({"a":[1,2.5,"😀",true,null]})"},
      {"array", "[1]", "[1]"},
      {"exact integers", "[18446744073709551615]", "[18446744073709551615]"},
      {"flow that is no JSON", "{a: 1, 'b': [x,],}", R"({"a":1,"b":["x"]})"},
      {"a comment after it", "{\"a\": 1} # c\n", R"({"a":1})"},
      {"duplicate key", "{\"a\": 1,\n \"a\": 2}", "error: line 2, column 2: duplicate key \"a\" (first at line 1)"},
      {"block after a flow start", "[a]: 1\n", "error: line 1, column 1: a key must be a scalar, not a list"},
  };
  for (const YamlCase& c : cases) expect_yaml(c);
}

TEST(YamlParse, Keys) {
  const YamlCase cases[] = {
      {"numbers and booleans are spelled as Kubernetes does",
       "1: a\n0x10: b\nyes: c\n1.5: d\n1e3: e\n123456789.5: f\n-0.00001: g\n18446744073709551615: h\n.inf: i\n",
       R"({"1":"a","16":"b","true":"c","1.5":"d","1000":"e","1.2345679e+08":"f","-1e-05":"g","18446744073709551615":"h",".inf":"i"})"},
      {"a date stays text", "2001-01-01: a", R"({"2001-01-01":"a"})"},
      {"quoted", "'yes': a\n\"1\": b", R"({"yes":"a","1":"b"})"},
      {"tagged", "!!str 1: a", R"({"1":"a"})"},
      {"null", "~: a", "error: line 1, column 1: a key is missing or null*"},
      {"missing", "a: 1\n: b", "error: line 2, column 1: a key is missing or null*"},
      {"mapping", "? {a: b}\n: c", "error: line 1, column 3: a key must be a scalar, not a mapping"},
      {"alias as a key", "- &k name\n- *k : x", R"(["name",{"name":"x"}])"},
      {"duplicate", "a: 1\nb: 2\na: 3", "error: line 3, column 1: duplicate key \"a\" (first at line 1)"},
      {"duplicate deep inside", "x:\n  - a: 1\n    b: 1\n    a: 2",
       "error: line 4, column 5: duplicate key \"a\" (first at line 2)"},
      {"duplicate by meaning", "1: a\n'1': b", "error: line 2, column 1: duplicate key \"1\" (first at line 1)"},
      {"duplicate by another spelling", "yes: a\non: b",
       "error: line 2, column 1: duplicate key \"true\" (first at line 1)"},
      {"column counts characters", "{é: 1, é: 2}", "error: line 1, column 8: duplicate key \"é\" (first at line 1)"},
  };
  for (const YamlCase& c : cases) expect_yaml(c);
}

TEST(YamlParse, KeysThatAreThereTwiceCanBeToldInsteadOfRefused) {
  std::vector<std::string> told;
  ParseLimits limits;
  limits.on_duplicate_key = [&](std::string_view what) { told.emplace_back(what); };
  codec::expect_parsed(parse("a: 1\nb: {c: 2, c: 3}\na: 4", limits), R"({"a":4,"b":{"c":3}})", "the last counts");
  EXPECT_EQ(told, (std::vector<std::string>{"line 2, column 11: duplicate key \"c\" (first at line 2)",
                                            "line 3, column 1: duplicate key \"a\" (first at line 1)"}));
  codec::expect_parsed(parse(R"({"a": 1, "a": 2})", limits), R"({"a":2})", "in JSON too");
  std::string many = "a: 1\n";
  for (int i = 0; i < 101; ++i) many += "a: 1\n";
  EXPECT_FALSE(parse(many, limits).ok()) << "nobody repairs so many one by one";
}

TEST(YamlParse, Tags) {
  const YamlCase cases[] = {
      {"standard tags",
       "[!!int '12', !!float 1, !!bool yes, !!null '', !!str 12, ! 12, !!timestamp 2001-01-01, !!seq [a], !!map {a: "
       "b}]",
       R"([12,1,true,null,"12","12","2001-01-01",["a"],{"a":"b"}])"},
      {"binary", "a: !!binary |\n  aGVs\n  bG8=\n", R"({"a":"hello"})"},
      {"verbatim", "a: !<tag:yaml.org,2002:str> 1", R"({"a":"1"})"},
      {"empty text", "a: !!str", R"({"a":""})"},
      {"binary that is no base64", "a: !!binary '*'", "error: line 1, column 4: !!binary: *"},
      {"binary that is no text",
       "a: !!binary gIA=", "error: line 1, column 4: !!binary holds bytes that are not UTF-8*"},
      {"not an integer", "a: !!int 1.5", "error: line 1, column 4: the text is not a value of type !!int"},
      {"not a boolean", "a: !!bool maybe", "error: line 1, column 4: the text is not a value of type !!bool"},
      {"not null", "a: !!null x", "error: line 1, column 4: the text is not a value of type !!null"},
      {"unknown local tag", "a: !Ref x", "error: line 1, column 4: the tag '!...' cannot be used here; known are *"},
      {"unknown standard tag", "a: !!set {x}", "error: line 1, column 4: the tag !!set cannot be used here*"},
      {"tag of the wrong kind", "a: !!str [x]", "error: line 1, column 4: the tag !!str cannot be used here*"},
  };
  for (const YamlCase& c : cases) expect_yaml(c);
}

TEST(YamlParse, AnchorsAndMerges) {
  const YamlCase cases[] = {
      {"alias", "a: &x [1, {b: 2}]\nc: *x\n", R"({"a":[1,{"b":2}],"c":[1,{"b":2}]})"},
      {"anchor of null", "a: &x\nb: *x\n", R"({"a":null,"b":null})"},
      {"redefined anchor", "[&x 1, *x, &x 2, *x]", "[1,1,2,2]"},
      {"merge", "a: &x {p: 1, q: 2}\nb:\n  <<: *x\n  q: 3\n", R"({"a":{"p":1,"q":2},"b":{"p":1,"q":3}})"},
      {"inline merge", "<<: {a: 1}\nb: 2", R"({"a":1,"b":2})"},
      {"merge of a list: the first wins", "<<: [{a: 1, b: 2}, {a: 3, c: 4}]", R"({"a":1,"b":2,"c":4})"},
      {"merge with a tag", "!!merge <<: {a: 1}", R"({"a":1})"},
      {"merge after a key wins, as in the Kubernetes tools", "a: 1\n<<: {a: 2}", R"({"a":2})"},
      {"quoted << is a key", "\"<<\": {a: 1}", R"({"<<":{"a":1}})"},
      {"<< as a value", "a: <<", R"({"a":"<<"})"},
      {"nested merge", "a: &a {x: 1}\nb: &b {<<: *a, z: 2}\nc: {<<: *b}",
       R"({"a":{"x":1},"b":{"x":1,"z":2},"c":{"x":1,"z":2}})"},
      {"duplicate beside a merge", "<<: {a: 1}\na: 2\na: 3",
       "error: line 3, column 1: duplicate key \"a\" (first at line 2)"},
      {"two merges", "<<: {a: 1}\n<<: {b: 1}", "error: line 2, column 1: duplicate key \"<<\" (first at line 1)"},
      {"merge of a scalar", "<<: 3",
       "error: line 1, column 5: '<<' needs a mapping or a list of mappings, not a scalar"},
      {"merge of a list of scalars", "<<: [{a: 1}, 2]", "error: line 1, column 14: '<<' needs mappings, not a scalar"},
      {"unknown alias", "a: *x", "error: line 1, column 4: *"},
      {"alias of what contains it", "a: &x\n  b: *x",
       "error: line 2, column 6: alias of a collection inside that collection"},
  };
  for (const YamlCase& c : cases) expect_yaml(c);
}

TEST(YamlParse, ErrorsSayWhereAndWhatToDo) {
  const YamlCase cases[] = {
      {"bad indentation", "a:\n   b: 1\n  c: 2\n",
       "error: line 3, column 3: this does not fit into the mapping it is in*"},
      {"colon in a value", "a: b: c\n",
       "error: line 1, column 5: a mapping is not possible here; text that contains ': ' needs quotes"},
      {"unclosed list", "a: [1, 2\n", "error: line 2, column 1: the '[' of this list has no matching ']'*"},
      {"unclosed quote", "a: \"x\n", "error: line 2, column 1: a quoted text is not closed"},
      {"unclosed quote before blanks", "a: 'x\n  ", "error: line 2, column 3: a quoted text is not closed"},
      {"unclosed quote at once", "a: !!str \"x", "error: line 1, column 12: a quoted text is not closed"},
      {"a lone quote", "a: b\n'", "error: line 2, column 1: a quoted text is not closed"},
      {"a lone quote after a tag", "a: !!str \"", "error: line 1, column 10: a quoted text is not closed"},
      {"a word where a key belongs", "a: 1\nb", "error: line 2, column 1: a ':' is missing after this key"},
      {"a word where a key belongs, not last", "a: 1\nb\n", "error: line 2, column 1: a ':' is missing after this key"},
      {"text that starts with %", "%a%: 1\nb: 2\n",
       "error: line 1, column 1: a line that starts with '%' is a directive*"},
      {"text that starts with %, last", "b: 2\n%a%: 1",
       "error: line 2, column 1: a line that starts with '%' is a directive*"},
      {"reserved character", "a: @x\n",
       "error: line 1, column 4: text cannot start with this character; put it in quotes"},
      {"stray bracket", "]", "error: line 1, column 1: *"},
      {"text after a document", "\"a\" \"b\"",
       "error: line 1, column 5: unexpected content after the end of the document*"},
      {"a list after a mapping", "a: 1\n- b\n", "error: line 2, column 1: *"},
      {"comma", ",", "error: *"},
      {"comma after the end marker", "...\n,", "error: *"},
      {"control character", "a: 1\nb: x\x01y",
       "error: line 2, column 5: control character 0x01; write it as an escape in double quotes"},
      {"delete", "a: \x7f", "error: line 1, column 4: control character 0x7f*"},
      {"C1 control", "a: \xC2\x9F", "error: line 1, column 4: a control character beyond ASCII*"},
      {"not UTF-8", "a: 1\nb: \xff", "error: line 2, column 4: the text is not UTF-8"},
      {"UTF-16",
       "\xFF\xFE"
       "a",
       "error: line 1, column 1: the text is not UTF-8"},
      {"surrogate escape", "a: \"\\ud83d\\ude00\"", "error: line 1, column 11: *"},
      {"empty", "", "error: the text holds no document"},
      {"only blanks", "  ", "error: the text holds no document"},
      {"only a directive", "%YAML 1.1\n", "error: line 1, column 1: a line that starts with '%' is a directive*"},
      {"only comments", "# x\n---\n# y\n", "error: the text holds no document"},
      {"two documents", "a: 1\n---\nb: 2\n", "error: line 3: a second document where one is expected"},
  };
  for (const YamlCase& c : cases) expect_yaml(c);
}

TEST(YamlStream, DocumentsWithTheirLines) {
  const auto documents =
      parse_stream("# head\na: 1\n---\n---\n# nothing\n---\n\nb: 2\n...\n---\n~\n--- c\n...\n# bare\n[d]\n");
  ASSERT_TRUE(documents.ok()) << documents.error().to_string();
  ASSERT_EQ(documents->size(), 4u);
  EXPECT_EQ(json::write((*documents)[0].value), R"({"a":1})");
  EXPECT_EQ((*documents)[0].line, 2u);
  EXPECT_EQ(json::write((*documents)[1].value), R"({"b":2})");
  EXPECT_EQ((*documents)[1].line, 8u);
  EXPECT_EQ(json::write((*documents)[2].value), R"("c")");
  EXPECT_EQ((*documents)[2].line, 12u);
  EXPECT_EQ(json::write((*documents)[3].value), R"(["d"])");
  EXPECT_EQ((*documents)[3].line, 15u);
}

TEST(YamlStream, JsonDocumentsAndAnchorsPerDocument) {
  const auto documents = parse_stream("{\"a\": 1}\n---\n{\"b\": 2}\n");
  ASSERT_TRUE(documents.ok()) << documents.error().to_string();
  ASSERT_EQ(documents->size(), 2u);
  EXPECT_FALSE(parse_stream("- &x 1\n---\n- *x\n").ok()) << "anchors end with their document";
  const auto empty = parse_stream(" \n");
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(empty->empty());
}

void expect_exhausted(const std::string& text, const ParseLimits& limits = {}) {
  const auto documents = parse_stream(text, limits);
  ASSERT_FALSE(documents.ok());
  EXPECT_EQ(documents.error().code(), Code::kExhausted) << documents.error().to_string();
}

TEST(YamlLimits, Depth) {
  const auto nested = [](std::size_t depth) { return "x: " + std::string(depth, '[') + "a" + std::string(depth, ']'); };
  EXPECT_TRUE(parse(nested(99)).ok());
  expect_exhausted(nested(100));
  expect_exhausted(std::string(101, '[') + std::string(101, ']'));
  expect_exhausted("[" + std::string(400'000, '['));
  expect_exhausted(std::string(300'000, '{'));
  std::string dashes;
  for (int i = 0; i < 100'000; ++i) dashes += "- ";
  expect_exhausted(dashes);
  std::string questions;
  for (int i = 0; i < 100'000; ++i) questions += "? ";
  expect_exhausted(questions);

  // Aliases nest deeper than the text.
  std::string chain = "- &a0 [x]\n";
  for (int i = 1; i < 200; ++i) chain += fmt::format("- &a{} [*a{}]\n", i, i - 1);
  expect_exhausted(chain);
}

TEST(YamlLimits, AliasBombs) {
  std::string laughs = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (int i = 1; i < 10; ++i) {
    laughs +=
        fmt::format("a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}]\n", i, i - 1);
  }
  expect_exhausted(laughs, {.max_nodes = 100'000});

  std::string merges = "a0: &a0 {k: [1, 2, 3, 4, 5, 6, 7, 8]}\n";
  for (int i = 1; i < 60; ++i) merges += fmt::format("a{0}: &a{0} {{x: {{<<: *a{1}}}, y: {{<<: *a{1}}}}}\n", i, i - 1);
  expect_exhausted(merges, {.max_nodes = 100'000});

  // Few nodes, much text.
  std::string text = "- &a " + std::string(100'000, 'x') + "\n";
  for (int i = 0; i < 100; ++i) text += "- *a\n";
  expect_exhausted(text, {.max_bytes = 200'000});
  EXPECT_TRUE(parse(text).ok());
}

TEST(YamlLimits, SizeAndNodes) {
  expect_exhausted("a: 1234567", {.max_bytes = 9});
  EXPECT_TRUE(parse("a: 1234567", {.max_bytes = 10}).ok());
  expect_exhausted("- a\n- b\n- c\n", {.max_nodes = 3});
  EXPECT_TRUE(parse("- a\n- b\n- c\n", {.max_nodes = 4}).ok());
  expect_exhausted("[1,2,3]", {.max_nodes = 3});
  expect_exhausted("a: 1\n---\nb: 2\n", {.max_nodes = 5});
}

TEST(YamlLimits, FlowCollectionReadFarAhead) {
  std::string list = "[a";
  for (int i = 0; i < 600'000; ++i) list += ",a";
  expect_exhausted(list + "]");
  // The same length as a block scalar is nothing special.
  EXPECT_TRUE(parse("x: |\n  " + std::string(600'000, 'a') + "\n").ok());
}

}  // namespace strake::yaml::yaml_test
