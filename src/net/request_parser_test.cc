#include "net/request_parser.h"

#include <gtest/gtest.h>

namespace strake::net::request_parser_test {
namespace {

constexpr ParserLimits kSmallLimits{512, 32};

/// Feeds all bytes as a connection would: what is not taken stays in front.
RequestParser::State feed_in_steps(RequestParser& parser, std::string_view bytes, std::size_t step) {
  std::string inbox;
  while (!bytes.empty() && parser.state() != RequestParser::State::kDone &&
         parser.state() != RequestParser::State::kFailed) {
    inbox += bytes.substr(0, step);
    bytes.remove_prefix(std::min(step, bytes.size()));
    inbox.erase(0, parser.feed(inbox));
  }
  return parser.state();
}

TEST(RequestParserTest, AnyCutGivesTheSameRequest) {
  const std::string bytes =
      "POST /api/v1/x?a=b HTTP/1.1\r\nHost: h\r\nX-Folded: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\nTrailer: t\r\n\r\n";
  for (std::size_t step = 1; step <= bytes.size(); ++step) {
    RequestParser parser(kSmallLimits);
    ASSERT_EQ(feed_in_steps(parser, bytes, step), RequestParser::State::kDone)
        << step << ": " << parser.failure().message;
    const ParsedRequest request = parser.take();
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.raw_target, "/api/v1/x?a=b");
    EXPECT_EQ(request.target.segments, (std::vector<std::string>{"api", "v1", "x"}));
    EXPECT_EQ(request.body, "hello world");
    EXPECT_EQ(request.headers.get("x-folded"), "1");
    EXPECT_TRUE(request.keep_alive);
  }
}

TEST(RequestParserTest, AnEmptyChunkedBodyMayComeByteByByte) {
  for (const char* end : {"0\r\n\r\n", "0\r\nTrailer: t\r\n\r\n", "000\r\n\r\n"}) {
    const std::string bytes = std::string("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n") + end;
    for (std::size_t step = 1; step <= bytes.size(); ++step) {
      RequestParser parser(kSmallLimits);
      ASSERT_EQ(feed_in_steps(parser, bytes, step), RequestParser::State::kDone) << end << " in steps of " << step;
      EXPECT_EQ(parser.take().body, "");
    }
  }
}

TEST(RequestParserTest, TheNextRequestIsLeftAlone) {
  const std::string first = "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc";
  const std::string both = first + "GET /next HTTP/1.1\r\nHost: h\r\n\r\n";
  RequestParser parser(kSmallLimits);
  EXPECT_EQ(parser.feed(both), first.size());
  EXPECT_EQ(parser.take().body, "abc");
}

TEST(RequestParserTest, KeepAliveByVersionAndField) {
  const auto keep_alive = [](const std::string& bytes) {
    RequestParser parser(kSmallLimits);
    parser.feed(bytes);
    return parser.take().keep_alive;
  };
  EXPECT_TRUE(keep_alive("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_FALSE(keep_alive("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
  EXPECT_FALSE(keep_alive("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(keep_alive("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

TEST(RequestParserTest, ExpectationIsSeenBeforeTheBody) {
  RequestParser parser(kSmallLimits);
  parser.feed("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-Continue\r\n\r\n");
  EXPECT_EQ(parser.state(), RequestParser::State::kBody);
  EXPECT_TRUE(parser.expects_continue());
}

TEST(RequestParserTest, RefusalsNameAStatus) {
  struct Case {
    const char* name;
    std::string bytes;
    int status;
  };
  const std::string host = "Host: h\r\n";
  const std::vector<Case> cases = {
      {"not http", "\x16\x03\x01\x02\x00\x01\r\n\r\n", 400},
      {"no version", "GET /\r\n\r\n", 400},
      {"version 2", "GET / HTTP/2.0\r\n" + host + "\r\n", 505},
      {"version 1.2", "GET / HTTP/1.2\r\n" + host + "\r\n", 505},
      {"no host", "GET / HTTP/1.1\r\n\r\n", 400},
      {"two hosts", "GET / HTTP/1.1\r\n" + host + host + "\r\n", 400},
      {"space before the colon", "GET / HTTP/1.1\r\nHost : h\r\n\r\n", 400},
      {"length and chunked", "PUT / HTTP/1.1\r\n" + host + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
       400},
      {"chunked and length", "PUT / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
       400},
      {"two lengths", "PUT / HTTP/1.1\r\n" + host + "Content-Length: 3\r\nContent-Length: 4\r\n\r\n", 400},
      {"negative length", "PUT / HTTP/1.1\r\n" + host + "Content-Length: -3\r\n\r\n", 400},
      {"unknown coding", "PUT / HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip, chunked\r\n\r\n", 501},
      {"obscured coding", "PUT / HTTP/1.1\r\n" + host + "Transfer-Encoding: xchunked\r\n\r\n", 501},
      {"chunked in 1.0", "PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"bad chunk size", "PUT / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400},
      {"other expectation", "PUT / HTTP/1.1\r\n" + host + "Expect: tea\r\nContent-Length: 1\r\n\r\n", 417},
      {"declared body too long", "PUT / HTTP/1.1\r\n" + host + "Content-Length: 33\r\n\r\n", 413},
      {"chunked body too long",
       "PUT / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n20\r\n" + std::string(32, 'a') +
           "\r\n1\r\nb\r\n",
       413},
      {"header too long", "GET / HTTP/1.1\r\n" + host + "X: " + std::string(600, 'x') + "\r\n\r\n", 431},
      {"header without end", "GET / HTTP/1.1\r\nX: " + std::string(600, 'x'), 431},
      {"dot segments", "GET /a/../b HTTP/1.1\r\n" + host + "\r\n", 400},
      {"star", "OPTIONS * HTTP/1.1\r\n" + host + "\r\n", 400},
      {"control character in the target", "GET /a\x01 HTTP/1.1\r\n" + host + "\r\n", 400},
  };
  for (const Case& c : cases) {
    RequestParser parser(kSmallLimits);
    EXPECT_EQ(feed_in_steps(parser, c.bytes, 7), RequestParser::State::kFailed) << c.name;
    EXPECT_EQ(parser.failure().status, c.status) << c.name << ": " << parser.failure().message;
    EXPECT_FALSE(parser.failure().message.empty()) << c.name;
  }
}

}  // namespace
}  // namespace strake::net::request_parser_test
