#include "net/endpoint.h"

#include <gtest/gtest.h>

#include "net/http_server.h"
#include "net/testing/test_authority.h"

namespace strake::net {
namespace {

TEST(Endpoint, IsReadAndWritten) {
  struct Case {
    std::string_view text, address;
    std::uint16_t port;
  };
  const Case cases[] = {{"127.0.0.1:7443", "127.0.0.1", 7443},
                        {"localhost:0", "localhost", 0},
                        {"[::1]:65535", "::1", 65535},
                        {"[fe80::1%2]:1", "fe80::1%2", 1},
                        {"api.example.com:443", "api.example.com", 443}};
  for (const Case& c : cases) {
    const auto endpoint = parse_endpoint(c.text);
    ASSERT_TRUE(endpoint.ok()) << c.text << ": " << endpoint.error().to_string();
    EXPECT_EQ(*endpoint, (Endpoint{std::string(c.address), c.port})) << c.text;
    EXPECT_EQ(endpoint->to_string(), c.text);
  }
}

TEST(Endpoint, NonsenseIsRefusedInWords) {
  struct Case {
    std::string_view text, says;
  };
  const Case cases[] = {
      {"", "port is missing"},        {"nowhere", "port is missing"},   {":7443", "address is missing"},
      {"127.0.0.1:", "no number"},    {"127.0.0.1:65536", "no number"}, {"127.0.0.1:-1", "no number"},
      {"127.0.0.1:80x", "no number"}, {"::1:7443", "in brackets"},      {"[::1]", "port is missing"},
      {"[::1", "not closed"},         {"[::1]7443", "port is missing"}, {"[localhost]:1", "only an IPv6 address"},
      {"a b:1", "no name"},           {"http://host:1", "in brackets"}};
  for (const Case& c : cases) {
    const auto endpoint = parse_endpoint(c.text);
    ASSERT_FALSE(endpoint.ok()) << c.text;
    EXPECT_NE(endpoint.error().to_string().find(c.says), std::string::npos)
        << c.text << ": " << endpoint.error().to_string();
  }
}

TEST(ReservedEndpoint, IsKeptForTheServerThatListensLater) {
  const auto reserved = ReservedEndpoint::reserve({"127.0.0.1", 0});
  ASSERT_TRUE(reserved.ok()) << reserved.error().to_string();
  const std::uint16_t port = reserved->endpoint().port;
  EXPECT_NE(port, 0);
  testing::TestAuthority authority;
  const testing::TestIdentity identity = authority.server();
  ServerOptions options;
  options.port = port;
  options.certificate_pem = identity.certificate_pem;
  options.key_pem = identity.key_pem;
  const auto server = HttpsServer::start(options, [](const ServerRequest&, const Responder&) {});
  ASSERT_TRUE(server.ok()) << server.error().to_string();
  EXPECT_EQ(server->port(), port);
  const auto again = ReservedEndpoint::reserve({"127.0.0.1", port});
  ASSERT_FALSE(again.ok()) << "somebody listens there";
  EXPECT_EQ(again.error().code(), Code::kUnavailable);
  EXPECT_EQ(ReservedEndpoint::reserve({"::1", 0})->endpoint().address, "::1");
  EXPECT_EQ(ReservedEndpoint::reserve({"localhost", 0}).error().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace strake::net
