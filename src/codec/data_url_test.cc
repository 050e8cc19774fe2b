#include "codec/data_url.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "codec/base64.h"

namespace strake::codec::data_url_test {

TEST(DataUrl, Decodes) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"data:,", ""},
      {"data:,a%20b", "a b"},
      {"data:,a'b", "a'b"},
      {"data:,a+b,c;d", "a+b,c;d"},
      {"data:,%e2%82%AC", "\xE2\x82\xAC"},
      {"data:;base64,", ""},
      {"data:;base64,QQ==", "A"},
      {"data:;base64,QR==", "A"},
      {"data:;base64,Q\nQ==\n", "A"},
      {"data:text/plain;charset=utf-8;base64,QQ==", "A"},
      {"data:text/plain;charset=\"a b\",x", "x"},
      {"data:text/,x", "x"},
      {"data:x-custom/thing,x", "x"},
      {"data:;a=b;a=c,x", "x"},
  };
  for (const auto& [url, data] : cases) {
    const auto parsed = parse_data_url(url);
    ASSERT_TRUE(parsed.ok()) << url << ": " << parsed.error().to_string();
    EXPECT_EQ(parsed->data, data) << url;
  }
  EXPECT_EQ(parse_data_url("data:,%00")->data, std::string(1, '\0'));
}

TEST(DataUrl, Parts) {
  const auto parsed =
      parse_data_url("data:text/plain;charset=utf-8;title=\"a \\\"b%22\\x41\\101\\u00e9\\n\";base64,QQ==");
  ASSERT_TRUE(parsed.ok()) << parsed.error().to_string();
  EXPECT_EQ(parsed->media_type, "text/plain");
  ASSERT_EQ(parsed->parameters.size(), 2u);
  EXPECT_EQ(parsed->parameters[0], (std::pair<std::string, std::string>("charset", "utf-8")));
  EXPECT_EQ(parsed->parameters[1], (std::pair<std::string, std::string>("title", "a \"b%22AA\xC3\xA9\n")));
  EXPECT_TRUE(parsed->base64);
}

TEST(DataUrl, Refuses) {
  for (std::string_view url : {"",
                               "http://x",
                               "DATA:,x",
                               "data:",
                               "data:x",
                               "data:;",
                               "data:text/plain",
                               "data:text,x",
                               "data:/plain,x",
                               "data:TEXT/plain,x",
                               "data:font/woff,x",
                               "data:text/pl ain,x",
                               "data:;,x",
                               "data:;a=,x",
                               "data:;a,x",
                               "data:;a=\"b,x",
                               "data:;a=\"\xc3\xa9\",x",
                               "data:;Base64,QQ==",
                               "data:;base64;a=b,QQ==",
                               "data:;base64,QQ",
                               "data:;base64,Q%3D==",
                               "data:;base64,_-8=",
                               "data:;base64,Q Q==",
                               "data:,a b",
                               "data:,%4",
                               "data:,%zz",
                               "data:,%",
                               "data:,a#b",
                               "data:,a\"b",
                               "data:,a<b",
                               "data:,a>b",
                               "data:,a[b",
                               "data:,a]b",
                               "data:,a\\b",
                               "data:,a^b",
                               "data:,a{b",
                               "data:,a|b",
                               "data:,a}b",
                               "data:,a`b",
                               "data:,\xc3\xa9",
                               "data:,a\x7f",
                               "data:,a\nb",
                               "data:;a=%4,x",
                               R"(data:;a="\q",x)",
                               R"(data:;a="\'",x)",
                               R"(data:;a="\x4",x)",
                               R"(data:;a="\400",x)",
                               R"(data:;a="\08x",x)",
                               R"(data:;a="\ud800",x)",
                               R"(data:;a="\U00110000",x)",
                               R"(data:;a="\u12)",
                               R"(data:;a="\)",
                               "data:;a=\"b\nc\",x"}) {
    const auto parsed = parse_data_url(url);
    ASSERT_FALSE(parsed.ok()) << url;
    EXPECT_EQ(parsed.error().code(), Code::kInvalidArgument) << url;
  }
}

TEST(DataUrl, ErrorsNameTheOffset) {
  EXPECT_NE(parse_data_url("data:,ab c").error().message().find("0x20 at offset 8"), std::string::npos);
  EXPECT_NE(parse_data_url("data:,ab%x").error().message().find("offset 8"), std::string::npos);
  EXPECT_NE(parse_data_url("data:;base64,QQ*=").error().to_string().find("counting from offset 13"), std::string::npos);
}

TEST(DataUrl, Encodes) {
  EXPECT_EQ(encode_data_url("a b/\xC3\xA9%-_.!~*'()\n"), "data:,a%20b%2F%C3%A9%25-_.!~*'()%0A");
  EXPECT_EQ(encode_base64_data_url("A", "text/plain;charset=utf-8"), "data:text/plain;charset=utf-8;base64,QQ==");
  EXPECT_EQ(encode_base64_data_url("A"), "data:;base64,QQ==");
}

TEST(DataUrl, ParsingUndoesEncoding) {
  EXPECT_TRUE(rc::check([](const std::string& data) {
    for (const std::string& url : {encode_data_url(data), encode_base64_data_url(data, "text/plain;charset=utf-8")}) {
      const auto parsed = parse_data_url(url);
      RC_ASSERT(parsed.ok());
      RC_ASSERT(parsed->data == data);
    }
  }));
}

TEST(DataUrl, CheckingSaysWhatParsingSays) {
  EXPECT_TRUE(rc::check([] {
    const auto heads = rc::gen::element<std::string>("data:,", "data:;base64,", "data:text/plain;base64,", "data:");
    const auto characters = rc::gen::container<std::string>(
        rc::gen::oneOf(rc::gen::elementOf(std::string("%AZaz09+/=\n")), rc::gen::arbitrary<char>()));
    std::string url = *heads + *characters;
    if (*rc::gen::arbitrary<bool>()) url = *heads + encode_base64(*rc::gen::arbitrary<std::string>());
    const auto parsed = parse_data_url(url);
    const auto checked = check_data_url(url);
    RC_ASSERT(checked.ok() == parsed.ok());
    if (!checked.ok()) RC_ASSERT(checked.error().to_string() == parsed.error().to_string());
  }));
}

}  // namespace strake::codec::data_url_test
