#include "net/response_head.h"

#include <gtest/gtest.h>

namespace strake::net::response_head_test {
namespace {

TEST(ResponseHeadTest, TheServerOwnsTheFraming) {
  const Headers headers{{"Content-Type", "text/plain"}, {"content-length", "999"}, {"Connection", "upgrade"}};
  const auto head = format_response_head(404, headers, {true, false, 5}, std::chrono::sys_seconds{});
  ASSERT_TRUE(head.ok());
  EXPECT_EQ(*head,
            "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
            "Content-Length: 5\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_FALSE(format_response_head(200, {{"A", "x\r\nB: y"}}, {}, {}).ok());
  EXPECT_FALSE(format_response_head(100, {}, {}, {}).ok());
}

TEST(ResponseHeadTest, Chunks) {
  EXPECT_EQ(format_chunk(std::string(26, 'a')), "1a\r\n" + std::string(26, 'a') + "\r\n");
  EXPECT_EQ(format_chunk(""), "");
}

TEST(GzipTest, AcceptEncodingIsUnderstood) {
  struct Case {
    const char* field;
    bool accepted;
  };
  for (const Case& c :
       {Case{"gzip", true}, Case{"deflate, GZIP;q=0.5", true}, Case{"gzip; q=0", false}, Case{"gzip;q=0.000", false},
        Case{"gzip;q=0.1", true}, Case{"identity", false}, Case{"x-gzip", false}, Case{"", false}}) {
    EXPECT_EQ(accepts_gzip({{"Accept-Encoding", c.field}}), c.accepted) << c.field;
  }
  EXPECT_FALSE(accepts_gzip({}));
}

TEST(GzipTest, OnlyLongTextsAreCompressed) {
  const auto compressed = [](const char* type, std::size_t size, Headers extra = {}) {
    Response response{200, std::move(extra), std::string(size, 'a')};
    response.headers.add("Content-Type", type);
    compress_if_useful(response, 1000);
    return response.headers.get("Content-Encoding") == "gzip" && response.body.size() < size;
  };
  EXPECT_TRUE(compressed("application/json", 1001));
  EXPECT_TRUE(compressed("application/apply-patch+json", 1001));
  EXPECT_FALSE(compressed("application/json", 1000));
  EXPECT_FALSE(compressed("application/octet-stream", 5000));
  EXPECT_FALSE(compressed("text/plain", 5000, {{"Content-Encoding", "br"}}));
}

}  // namespace
}  // namespace strake::net::response_head_test
