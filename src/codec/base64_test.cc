#include "codec/base64.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace strake::codec::base64_test {

TEST(Base64, Rfc4648Vectors) {
  const std::pair<std::string_view, std::string_view> vectors[] = {{"", ""},
                                                                   {"f", "Zg=="},
                                                                   {"fo", "Zm8="},
                                                                   {"foo", "Zm9v"},
                                                                   {"foob", "Zm9vYg=="},
                                                                   {"fooba", "Zm9vYmE="},
                                                                   {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(encode_base64(bytes), text);
    ASSERT_TRUE(decode_base64(text).ok()) << text;
    EXPECT_EQ(*decode_base64(text), bytes);
  }
}

TEST(Base64, Alphabets) {
  const std::string_view bytes = "\xfb\xff\xfe";
  EXPECT_EQ(encode_base64(bytes), "+//+");
  EXPECT_EQ(encode_base64(bytes, kBase64Url), "-__-");
  EXPECT_EQ(encode_base64("\xff", kBase64UrlUnpadded), "_w");
  EXPECT_EQ(*decode_base64("_w", kBase64UrlUnpadded), "\xff");
  EXPECT_FALSE(decode_base64("-__-").ok());
  EXPECT_FALSE(decode_base64("+//+", kBase64Url).ok());
  EXPECT_FALSE(decode_base64("_w==", kBase64UrlUnpadded).ok());
}

TEST(Base64, ErrorsNameTheOffset) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"Zm9*", "`*` at offset 3"}, {"Zm9v Zg==", "0x20 at offset 4"}, {"Zg", "offset 2"},
      {"Zg=", "offset 3"},         {"Zg===", "`=` at offset 4"},      {"Z", "offset 1"},
      {"Zg==Zg==", "offset 4"},    {"Zm9v\n", "0x0a at offset 4"},    {"=", "`=` at offset 0"},
      {"Zh==", "offset 1"},        {"\xff", "0xff at offset 0"}};
  for (const auto& [text, expected] : cases) {
    const auto result = decode_base64(text);
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.error().code(), Code::kInvalidArgument);
    EXPECT_NE(result.error().message().find(expected), std::string::npos) << result.error().message();
  }
  EXPECT_EQ(*decode_base64("Zh==", kBase64Lenient), "f");
}

TEST(Base64, DecodingUndoesEncoding) {
  EXPECT_TRUE(rc::check([](const std::string& bytes) {
    for (const Base64Form& form : {kBase64Standard, kBase64Url, kBase64UrlUnpadded}) {
      const auto decoded = decode_base64(encode_base64(bytes, form), form);
      RC_ASSERT(decoded.ok());
      RC_ASSERT(*decoded == bytes);
    }
  }));
}

}  // namespace strake::codec::base64_test
