#include "codec/hex.h"

#include <gtest/gtest.h>

namespace strake::codec::hex_test {

TEST(Hex, RoundTrip) {
  EXPECT_EQ(encode_hex(std::string_view("\x00\x7f\xff", 3)), "007fff");
  EXPECT_EQ(*decode_hex("007fFF"), std::string("\x00\x7f\xff", 3));
  EXPECT_EQ(*decode_hex(""), "");
}

TEST(Hex, ErrorsNameTheCharacter) {
  const auto bad = decode_hex("00g1");
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().message().find("character 3"), std::string::npos) << bad.error().message();
  EXPECT_EQ(decode_hex("123").error().code(), Code::kInvalidArgument);
}

TEST(Hex, LowerHex) {
  EXPECT_TRUE(is_lower_hex("0af9"));
  EXPECT_FALSE(is_lower_hex("0AF9"));
  EXPECT_FALSE(is_lower_hex(""));
}

}  // namespace strake::codec::hex_test
