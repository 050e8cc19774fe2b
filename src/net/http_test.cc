#include "net/http.h"

#include <gtest/gtest.h>

namespace strake::net::http_test {
namespace {

TEST(HeadersTest, NamesCompareWithoutCase) {
  Headers headers{{"Content-Type", "text/plain"}, {"X-A", "1"}, {"x-a", "2"}};
  EXPECT_EQ(headers.get("content-type"), "text/plain");
  EXPECT_EQ(headers.get("absent"), std::nullopt);
  EXPECT_EQ(headers.all("X-a"), (std::vector<std::string_view>{"1", "2"}));
  headers.set("X-A", "3");
  EXPECT_EQ(headers.all("x-a"), (std::vector<std::string_view>{"3"}));
  headers.remove("CONTENT-TYPE");
  EXPECT_EQ(headers.size(), 1U);
}

TEST(HeadersTest, TokensOfAListField) {
  const Headers headers{{"Connection", "keep-alive , Upgrade"}, {"Connection", "close"}};
  EXPECT_TRUE(headers.has_token("connection", "upgrade"));
  EXPECT_TRUE(headers.has_token("connection", "close"));
  EXPECT_FALSE(headers.has_token("connection", "up"));
}

TEST(HeadersTest, RefusesWhatWouldStartAnotherLine) {
  EXPECT_TRUE(validate({"X-Fine", "a value\twith a tab and \xc3\xa4"}).ok());
  for (const Header& bad : {Header{"", "x"}, Header{"a b", "x"}, Header{"a:", "x"}, Header{"a", "x\r\nInjected: y"},
                            Header{"a", std::string("x\0y", 3)}, Header{"a", "x\n"}}) {
    EXPECT_FALSE(validate(bad).ok()) << bad.name << " = " << bad.value;
  }
  EXPECT_EQ(validate({"Authorization", "Bearer s3cret\n"}).error().to_string().find("s3cret"), std::string::npos);
}

TEST(HttpStatusTest, StatusesStandForCodes) {
  EXPECT_EQ(code_for_status(401), Code::kUnauthenticated);
  EXPECT_EQ(code_for_status(404), Code::kNotFound);
  EXPECT_EQ(code_for_status(409), Code::kConflict);
  EXPECT_EQ(code_for_status(410), Code::kExpired);
  EXPECT_EQ(code_for_status(429), Code::kExhausted);
  EXPECT_EQ(code_for_status(422), Code::kInvalidArgument);
  EXPECT_EQ(code_for_status(503), Code::kUnavailable);
}

}  // namespace
}  // namespace strake::net::http_test
