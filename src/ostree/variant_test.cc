#include "ostree/variant.h"

#include <gtest/gtest.h>

#include "codec/hex.h"

namespace strake::ostree::variant_test {

std::string unhex(std::string_view hex) {
  auto bytes = codec::decode_hex(hex);
  EXPECT_TRUE(bytes.ok()) << hex;
  return *std::move(bytes);
}

/// Short enough to stand in a table: strings in quotes, bytes in hex, the rest in brackets.
std::string shown(const Variant& value) {
  switch (value.type.front()) {
    case 's':
    case 'o':
    case 'g': return "'" + value.text + "'";
    case 'a':
    case 'm':
    case '(':
    case '{':
    case 'v': break;
    default: return std::to_string(value.number);
  }
  if (value.type == "ay") return "0x" + codec::encode_hex(value.text);
  std::string out = "[";
  for (const Variant& item : value.items) out += (out.size() > 1 ? " " : "") + shown(item);
  return out + "]";
}

// The bytes are GLib's; among them are the examples of its specification.
TEST(Variant, ReadsAndWritesNormalForm) {
  struct Case {
    const char* name;
    const char* type;
    std::string hex;
    std::string expected;
  };
  const std::string long_hex(600, '6');  // 300 times the letter f
  const Case cases[] = {
      {"a string", "s", "68656c6c6f20776f726c6400", "'hello world'"},
      {"a maybe string", "ms", "68656c6c6f20776f726c640000", "['hello world']"},
      {"nothing", "ms", "", "[]"},
      {"a maybe number", "mu", "07000000", "[7]"},
      {"booleans", "ab", "0100000101", "[1 0 0 1 1]"},
      {"a structure", "(si)", "666f6f00ffffffff04", "['foo' 4294967295]"},
      {"structures in an array", "a(si)", "68690000feffffff0300000062796500ffffffff040915",
       "[['hi' 4294967294] ['bye' 4294967295]]"},
      {"strings in an array", "as", "690063616e0068617300737472696e67733f0002060a13", "['i' 'can' 'has' 'strings?']"},
      {"an empty array", "as", "", "[]"},
      {"bytes", "ay", "04050607", "0x04050607"},
      {"a nested structure", "((ys)as)", "6963616e0068617300737472696e67733f00040d05",
       "[[105 'can'] ['has' 'strings?']]"},
      {"a structure of numbers", "(yty)", "010000000000000002000000000000000300000000000000", "[1 2 3]"},
      {"fixed structures in an array", "a(uy)", "01000000020000000300000004000000", "[[1 2] [3 4]]"},
      {"a structure of nothing", "()", "00", "[]"},
      {"a box", "v", "2a0000000075", "[42]"},
      {"a dictionary", "a{sv}", "6100000000000000010062020000000076657273696f6e00312e30000073080c1f",
       "[['a' [1]] ['version' ['1.0']]]"},
      {"a dictionary of numbers", "a{sv}", "6100000000000000010000000000000000740213", "[['a' [1]]]"},
      {"extended attributes", "a(ayay)", "757365722e61006207757365722e626200080912",
       "[[0x757365722e6100 0x62] [0x757365722e626200 0x]]"},
      {"an empty dirtree", "(a(say)a(sayay))", "00", "[[] []]"},
      {"wide offsets", "as", long_hex + "0078002d012f01", "['" + std::string(300, 'f') + "' 'x']"},
  };
  for (const Case& c : cases) {
    const auto value = decode_variant(c.type, unhex(c.hex));
    ASSERT_TRUE(value.ok()) << c.name << ": " << value.error().to_string();
    EXPECT_EQ(shown(*value), c.expected) << c.name;
    EXPECT_EQ(codec::encode_hex(encode_variant(*value)), c.hex) << c.name;
  }
}

TEST(Variant, RefusesEverythingElse) {
  struct Case {
    const char* name;
    const char* type;
    const char* hex;
    const char* expected;
  };
  const Case cases[] = {
      {"a string without its end", "s", "6869", "a value of type s is not a text that ends with its only zero byte"},
      {"a string with two ends", "s", "68006900", "a value of type s is not a text that ends with its only zero byte"},
      {"not UTF-8", "s", "ff00", "a value of type s is not UTF-8"},
      {"half a number", "u", "0100", "a value of type u has the wrong size"},
      {"neither true nor false", "b", "02", "a value of type b is neither true nor false"},
      {"half an item", "au", "010000000200", "a value of type au ends in the middle of an item"},
      {"offset beyond the end", "as", "690004", "a value of type as has a damaged offset table"},
      {"an offset table of no offsets", "as", "690005", "a value of type as has a damaged offset table"},
      {"offsets that go back", "aay", "69006100040204", "a value of type aay has offsets that lead astray"},
      {"padding that is not zero", "(si)", "666f6f01ffffffff03", "*"},
      {"a hole between items", "as", "6900ff61000205", "*"},
      {"offsets wider than needed", "(ss)", "610062000200", "*"},
      {"too short for its offsets", "(sss)", "02", "*"},
      {"a box without type", "v", "2a000000", "*"},
      {"a box of two types", "v", "2a000000007575", "a value of type v does not say its type"},
      {"a box of half a type", "v", "0028", "a value of type v does not say its type"},
      {"a maybe without end", "ms", "6100ff", "a value of type ms has no zero byte after its value"},
  };
  for (const Case& c : cases) {
    const auto value = decode_variant(c.type, unhex(c.hex));
    ASSERT_FALSE(value.ok()) << c.name << ": " << shown(*value);
    EXPECT_EQ(value.error().code(), Code::kCorrupt) << c.name;
    if (std::string_view(c.expected) != "*") {
      EXPECT_EQ(value.error().message(), c.expected) << c.name;
    }
  }
}

TEST(Variant, DepthAndCountAreLimited) {
  Variant deep = Variant::u32(1);
  for (int i = 0; i < 40; ++i) deep = Variant::boxed(std::move(deep));
  EXPECT_EQ(decode_variant("v", encode_variant(deep)).error().code(), Code::kExhausted);
  const VariantLimits few{.max_depth = 32, .max_nodes = 10};
  EXPECT_EQ(decode_variant("ab", std::string(10, '\0'), few).error().code(), Code::kExhausted);
  EXPECT_TRUE(decode_variant("ab", std::string(9, '\0'), few).ok());
  const std::string type_bomb = std::string(1, '\0') + std::string(300, 'a') + "y";
  EXPECT_EQ(decode_variant("v", type_bomb).error().code(), Code::kCorrupt);
}

}  // namespace strake::ostree::variant_test
