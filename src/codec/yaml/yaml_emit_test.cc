#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <boost/json.hpp>

#include "codec/digest.h"
#include "codec/yaml.h"
#include "codec/yaml/yaml_style.h"

namespace strake::yaml::yaml_emit_test {

std::string emitted(const json::Value& value) {
  auto text = emit(value);
  return text.ok() ? *text : "error: " + text.error().to_string();
}

/// As one item of a list, without the `- ` and the final newline.
std::string emitted_item(std::string_view text) {
  std::string out = emitted(json::Array{json::Value(text)});
  EXPECT_TRUE(out.starts_with("- ")) << out;
  return out.substr(2, out.size() - 3);
}

// ---- Golden vectors: rendered names that exist in real clusters ----

constexpr unsigned char kSalt[] = {16,  124, 206, 228, 139, 56,  175, 175, 79,  229, 134, 118, 157, 154, 211, 110,
                                   25,  93,  47,  253, 172, 106, 37,  7,   174, 13,  160, 185, 110, 17,  87,  52,
                                   219, 131, 12,  206, 218, 141, 116, 135, 188, 181, 192, 151, 233, 62,  126, 165,
                                   64,  83,  179, 119, 15,  168, 208, 197, 146, 107, 58,  227, 133, 188, 238, 26,
                                   33,  26,  235, 202, 32,  173, 31,  234, 41,  144, 148, 79,  6,   206, 23,  22};

std::string salted_md5(std::string_view yaml) {
  codec::Hasher hasher(codec::HashAlgorithm::kMd5);
  hasher.update(std::as_bytes(std::span(kSalt)));
  hasher.update(yaml);
  return std::move(hasher).finish_hex();
}

json::Object spec_with(std::string_view config, std::string_view os_image = "") {
  return {{"osImageURL", os_image},
          {"baseOSExtensionsContainerImage", ""},
          {"config", boost::json::parse(std::string(config))},
          {"kernelArguments", json::Array()},
          {"extensions", json::Array()},
          {"fips", false},
          {"kernelType", "default"}};
}

constexpr std::string_view kMinimalConfig = R"({"ignition":{"version":"3.5.0"}})";

TEST(YamlEmit, GoldenMinimalSpec) {
  const std::string yaml = emitted(spec_with(kMinimalConfig));
  EXPECT_EQ(yaml,
            "baseOSExtensionsContainerImage: \"\"\n"
            "config:\n"
            "  ignition:\n"
            "    version: 3.5.0\n"
            "extensions: []\n"
            "fips: false\n"
            "kernelArguments: []\n"
            "kernelType: default\n"
            "osImageURL: \"\"\n");
  EXPECT_EQ(yaml.size(), 156u);
  EXPECT_EQ(salted_md5(yaml), "6da92b29d98fcd722bbf117520c22ee4");
}

TEST(YamlEmit, GoldenImagesAndArguments) {
  std::string os_digits;
  std::string extension_digits;
  for (int i = 0; i < 4; ++i) os_digits += "0123456789abcdef", extension_digits += "fedcba9876543210";
  json::Object spec = spec_with(kMinimalConfig, "registry.example.com/os@sha256:" + os_digits);
  spec["baseOSExtensionsContainerImage"] = "registry.example.com/ext@sha256:" + extension_digits;
  spec["kernelArguments"] = {"nosmt", "foo=bar baz", "a: b"};
  spec["extensions"] = {"usbguard"};
  spec["fips"] = true;
  spec["kernelType"] = "realtime";
  const std::string yaml = emitted(spec);
  EXPECT_EQ(yaml.size(), 379u);
  EXPECT_EQ(salted_md5(yaml), "c13312b8bd5049dd0b7efbc5632d142f");
}

TEST(YamlEmit, GoldenMergedConfig) {
  const std::string yaml = emitted(
      spec_with(R"({"ignition":{"version":"3.5.0"},"passwd":{"users":[{"name":"core","passwordHash":"$6$x",)"
                R"("sshAuthorizedKeys":["k1","k2","k3"]}]},"storage":{"files":[{"overwrite":true,"path":"/etc/b",)"
                R"("contents":{"source":"data:,one"},"mode":420},{"overwrite":true,"path":"/etc/a","contents":)"
                R"({"source":"data:,two","verification":{"hash":)"
                R"("sha256-0000000000000000000000000000000000000000000000000000000000000000"}}},)"
                R"({"overwrite":true,"path":"/etc/c","contents":{"source":"data:,three"}}]},"systemd":{"units":[)"
                R"({"contents":"[Unit]\nDescription=x\n[Install]\nWantedBy=multi-user.target\n","dropins":[)"
                R"({"contents":"[Service]\nEnvironment=A=2\n","name":"10-a.conf"},)"
                R"({"contents":"[Service]\nEnvironment=B=2\n","name":"20-b.conf"}],"enabled":true,"name":"x.service"},)"
                R"({"mask":true,"name":"y.service"}]}})",
                "img"));
  EXPECT_EQ(yaml.size(), 1083u);
  EXPECT_EQ(salted_md5(yaml), "727584ed332c970857e69fadba615991");
}

TEST(YamlEmit, GoldenTabAndLongLine) {
  const std::string yaml = emitted(
      spec_with(R"({"ignition":{"version":"3.5.0"},"systemd":{"units":[{"name":"t.service","contents":)"
                R"("[Service]\nExecStart=/usr/bin/foo \\\n\t--first-option=value-one --second-option=value-two )"
                R"(--third-option=value-three --fourth=4\n"}]}})",
                "img"));
  EXPECT_EQ(yaml.size(), 358u);
  EXPECT_NE(yaml.find(R"(    - contents: "[Service]\nExecStart=/usr/bin/foo \\\n\t--first-option=value-one)"
                      "\n        --second-option=value-two --third-option=value-three --fourth=4\\n\"\n"),
            std::string::npos)
      << yaml;
  EXPECT_EQ(salted_md5(yaml), "f23af49d4c03905bddcc322c34d07bfe");
}

// ---- Quoting ----

struct StyleCase {
  std::string_view text;
  std::string_view expected;
};

TEST(YamlEmit, Quoting) {
  const StyleCase cases[] = {
      // Would mean something else when read back.
      {"yes", "\"yes\""},
      {"1", "\"1\""},
      {"", "\"\""},
      {"~", "\"~\""},
      {"2001-01-01", "\"2001-01-01\""},
      {"12:30:45", "\"12:30:45\""},
      {"0x10", "\"0x10\""},
      {"0b101", "\"0b101\""},
      {"0o17", "\"0o17\""},
      {"1_000", "\"1_000\""},
      {"08", "\"08\""},
      {"1:2", "\"1:2\""},
      {".5", "\".5\""},
      {".5_0", "\".5_0\""},
      {".inf", "\".inf\""},
      // Only looks like it.
      {"1.2.3", "1.2.3"},
      {"inf", "inf"},
      {"NaN", "NaN"},
      {"1e400", "1e400"},
      {"0o8", "0o8"},
      {"1:60", "1:60"},
      {"2001-13-01", "2001-13-01"},
      {"=", "="},
      {"<<", "<<"},
      {"x:y", "x:y"},
      {":x", ":x"},
      {"?x", "?x"},
      {"--", "--"},
      {"a#b", "a#b"},
      {"foo:bar", "foo:bar"},
      {"k=\"a b\"", "k=\"a b\""},
      // Unsafe as plain text.
      {"- x", "'- x'"},
      {"#x", "'#x'"},
      {"x #y", "'x #y'"},
      {"'q'", "'''q'''"},
      {"trailing ", "'trailing '"},
      {" leading", "' leading'"},
      {"@at", "'@at'"},
      {"%pct", "'%pct'"},
      {"foo: bar", "'foo: bar'"},
      {"foo:", "'foo:'"},
      {"!tag", "'!tag'"},
      {"&anc", "'&anc'"},
      {"*ali", "'*ali'"},
      {"?", "'?'"},
      {"-", "'-'"},
      {":", "':'"},
      {"---", "'---'"},
      {"---x", "'---x'"},
      {"...", "'...'"},
      {"{}", "'{}'"},
      {"[]", "'[]'"},
      {",x", "',x'"},
      {"|x", "'|x'"},
      {">x", "'>x'"},
      {"`x", "'`x'"},
      {"\"x", "'\"x'"},
      // Needs escapes.
      {"a\tb", "\"a\\tb\""},
      {"a\rb", "\"a\\rb\""},
      {"\x07\x08\x0b\x0c\x1b\x01", "\"\\a\\b\\v\\f\\e\\x01\""},
      {"\xF0\x9F\x98\x80", "\"\\U0001F600\""},
      {"a\xEF\xBB\xBF", "\"a\\uFEFF\""},
      {"\xEF\xBB\xBF"
       "ab",
       "\"\\uFEFF\\x61\\x62\""},
      // Printable beyond ASCII stays.
      {"gr\xC3\xBC\xC3\x9F", "gr\xC3\xBC\xC3\x9F"},
      {"a\xC2\xA0", "a\xC2\xA0"},
      // Unicode line separators.
      {"a\xE2\x80\xA8"
       "b",
       "'a\xE2\x80\xA8  b'"},
      {"a \xE2\x80\xA9"
       "b",
       "\"a \\Pb\""},
      {"a\xE2\x80\xA8\nb", "|-\n  a\xE2\x80\xA8\n  b"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(emitted_item(text), expected);
  EXPECT_EQ(emitted_item(std::string_view("\0", 1)), "\"\\0\"");
}

TEST(YamlEmit, LiteralBlocks) {
  const StyleCase cases[] = {
      {"a\nb", "- |-\n  a\n  b\n"},
      {"a\nb\n", "- |\n  a\n  b\n"},
      {"a\n\n", "- |+\n  a\n\n"},
      {"\n", "- |2+\n\n"},
      {" a\n", "- |2\n   a\n"},
      {"\na", "- |2-\n\n  a\n"},
      {"a\n b\n", "- |\n  a\n   b\n"},
      {"a \nb\n", "- \"a \\nb\\n\"\n"},
      {"a\nb ", "- \"a\\nb \"\n"},
      {"a\n\tb\n", "- \"a\\n\\tb\\n\"\n"},
      {"a\r\nb\r\n", "- \"a\\r\\nb\\r\\n\"\n"},
      {"1\n", "- |\n  1\n"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(emitted(json::Array{json::Value(text)}), expected);
}

TEST(YamlEmit, FoldsBeyondEightyColumns) {
  const std::string long_word(85, 'x');
  EXPECT_EQ(emitted_item(long_word + " tail end"), long_word + "\n  tail end");
  EXPECT_EQ(emitted_item(long_word + "  two blanks"), long_word + "  two\n  blanks");
  EXPECT_EQ(emitted_item("'" + long_word + " tail"), "'''" + long_word + "\n  tail'");
  EXPECT_EQ(emitted_item("\t" + long_word + "  two"), "\"\\t" + long_word + "\n  \\ two\"");
  EXPECT_EQ(emitted_item("\t" + long_word + " "), "\"\\t" + long_word + " \"");
  EXPECT_EQ(emitted_item("a\n" + long_word + " tail"), "|-\n  a\n  " + long_word + " tail");
  EXPECT_EQ(emitted({{"key", {{"inner", long_word + " tail"}}}}), "key:\n  inner: " + long_word + "\n    tail\n");
}

TEST(YamlEmit, NextLineFoldsLikeALineBreak) {
  EXPECT_EQ(emitted_item("a\xC2\x85"
                         "b"),
            "a b");
  EXPECT_EQ(emitted_item("a \xC2\x85 b"), "a b");
  EXPECT_EQ(emitted_item("a\xC2\x85\xC2\x85"
                         "b"),
            "|-\n  a\n  b");
}

// ---- Structure ----

TEST(YamlEmit, Structure) {
  EXPECT_EQ(emitted(json::Value()), "null\n");
  EXPECT_EQ(emitted(json::Value("abc")), "abc\n");
  EXPECT_EQ(emitted(json::Value("a\n\n")), "|+\n  a\n\n");
  EXPECT_EQ(emitted(json::Object()), "{}\n");
  EXPECT_EQ(emitted(json::Array()), "[]\n");
  EXPECT_EQ(emitted(boost::json::parse(R"([[1,[2]],{"a":[{"b":1,"c":{}}],"d":[[]]}])")),
            "- - 1\n"
            "  - - 2\n"
            "- a:\n"
            "  - b: 1\n"
            "    c: {}\n"
            "  d:\n"
            "  - []\n");
}

TEST(YamlEmit, LongAndMultilineKeys) {
  const std::string fits(128, 'k');
  const std::string too_long(129, 'k');
  EXPECT_EQ(emitted({{fits, 1}}), fits + ": 1\n");
  EXPECT_EQ(emitted({{too_long, 1}}), "? " + too_long + "\n: 1\n");
  EXPECT_EQ(emitted({{too_long, {1, 2}}}), "? " + too_long + "\n: - 1\n  - 2\n");
  EXPECT_EQ(emitted({{too_long, {{"a", 1}, {"b", 2}}}}), "? " + too_long + "\n: a: 1\n  b: 2\n");
  EXPECT_EQ(emitted({{"a\nb", 1}}), "? |-\n  a\n  b\n: 1\n");
  EXPECT_EQ(emitted({{"yes", 1}, {"", 2}}), "\"\": 2\n\"yes\": 1\n");
}

TEST(YamlEmit, KeysInNaturalOrder) {
  const json::Object keys = {{"b10", 0}, {"b9", 0}, {"b09", 0}, {"B", 0}, {"a", 0},       {"a-b", 0},
                             {"a.b", 0}, {"aB", 0}, {"1", 0},   {"_", 0}, {"\xC3\xA9", 0}};
  EXPECT_EQ(emitted(keys), "_: 0\n\"1\": 0\nB: 0\na: 0\na-b: 0\na.b: 0\naB: 0\nb9: 0\nb09: 0\nb10: 0\n\xC3\xA9: 0\n");
}

TEST(YamlEmit, CyclesInNaturalOrderDoNotDependOnTheInput) {
  const std::string yaml = emitted({{"b2", 0}, {"b12", 0}, {"b1a", 0}});
  EXPECT_EQ(emitted({{"b1a", 0}, {"b2", 0}, {"b12", 0}}), yaml);
  EXPECT_EQ(emitted({{"b12", 0}, {"b1a", 0}, {"b2", 0}}), yaml);
}

TEST(YamlEmit, Numbers) {
  struct NumberCase {
    json::Value value;
    std::string_view expected;
  };
  const NumberCase cases[] = {
      {std::numeric_limits<std::int64_t>::min(), "-9223372036854775808\n"},
      {std::numeric_limits<std::uint64_t>::max(), "18446744073709551615\n"},
      {1.0, "1\n"},
      {-0.0, "-0\n"},
      {0.1, "0.1\n"},
      {0.0001, "0.0001\n"},
      {0.00001, "1e-05\n"},
      {100000.0, "100000\n"},
      {1000000.0, "1e+06\n"},
      {1234567.5, "1.2345675e+06\n"},
      {123456.5, "123456.5\n"},
      {1e21, "1e+21\n"},
      {5e-324, "5e-324\n"},
      {std::numeric_limits<double>::max(), "1.7976931348623157e+308\n"},
      {std::numeric_limits<double>::infinity(), ".inf\n"},
      {-std::numeric_limits<double>::infinity(), "-.inf\n"},
      {std::nan(""), ".nan\n"},
  };
  for (const auto& [value, expected] : cases) EXPECT_EQ(emitted(value), expected);
}

TEST(YamlEmit, RefusesWhatTheReaderRefuses) {
  for (std::string_view text :
       {"\x7F", "\xC2\x80", "\xC2\x9F", "\xEF\xBF\xBE", "\xEF\xBF\xBF", "\xFF", "\xED\xA0\x80", "a\xC2\x85--- b"}) {
    const auto result = emit(json::Array{json::Value(text)});
    ASSERT_FALSE(result.ok()) << testing::PrintToString(text);
    EXPECT_EQ(result.error().code(), Code::kInvalidArgument);
  }
  EXPECT_TRUE(emit({{std::string(1022, 'k'), 1}}).ok());
  EXPECT_FALSE(emit({{std::string(1023, 'k'), 1}}).ok());
  EXPECT_FALSE(emit({{"a\xC2\x85"
                      "b",
                      1}})
                   .ok());

  const auto nested = emit({{"spec", {{"items", {"fine", "bad\x7F"}}}}});
  ASSERT_FALSE(nested.ok());
  EXPECT_NE(nested.error().to_string().find("spec: items: item 1"), std::string::npos) << nested.error().to_string();
  EXPECT_NE(nested.error().to_string().find("U+007F"), std::string::npos);
}

/// Text from the characters that decide; now and then one that is not simple.
std::string any_text() {
  return *rc::gen::container<std::string>(
      rc::gen::elementOf(std::string("aaaaaaaz019  \n\n:#-?.,[]{}'\"\\%~_+ey\t\x7F\xC3")));
}

TEST(YamlEmit, SimpleTextIsTreatedLikeAnyOther) {
  EXPECT_TRUE(rc::check([] {
    const std::string text = any_text();
    const bool simple =
        std::all_of(text.begin(), text.end(), [](char c) { return (c >= ' ' && c <= '~') || c == '\n'; });
    RC_ASSERT(is_simple_text(text) == simple);
    RC_PRE(simple);
    const ScalarForm quick = choose_form(std::string_view(text));
    const ScalarForm thorough = choose_form(std::u32string(text.begin(), text.end()));
    RC_ASSERT(quick.style == thorough.style);
    RC_ASSERT(quick.multiline == thorough.multiline);
  }));
}

TEST(YamlEmit, ReadingUndoesWriting) {
  EXPECT_TRUE(rc::check([] {
    json::Object value;
    for (int left = *rc::gen::inRange(0, 5); left > 0; --left) {
      std::string text = any_text();
      std::erase_if(text, [](char c) { return c == '\x7F' || c == '\xC3'; });
      value["k" + std::to_string(left)] = json::Array{json::Value(text), json::Object{{"x", text}}};
    }
    const auto again = parse("# one document\n" + *emit(value));
    RC_ASSERT(again.ok());
    RC_ASSERT(*again == json::Value(value));
  }));
}

TEST(YamlEmit, PartsMakeTheWhole) {
  json::Array items;
  for (int i = 0; i < 3000; ++i) items.emplace_back(std::string(static_cast<std::size_t>(i) % 97, 'x'));
  items.emplace_back(std::string(100'000, 'y'));  // more than any buffer
  items.emplace_back("last");
  std::string joined;
  std::size_t parts = 0;
  ASSERT_TRUE(emit_to(items, [&](std::string_view part) {
                joined += part;
                ++parts;
              }).ok());
  EXPECT_EQ(joined, emitted(items));
  EXPECT_GT(parts, 3u);
  EXPECT_TRUE(joined.ends_with("y\n- last\n"));
}

}  // namespace strake::yaml::yaml_emit_test
