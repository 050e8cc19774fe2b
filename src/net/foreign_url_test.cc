#include "net/foreign_url.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <atomic>
#include <optional>

#include <gtest/gtest.h>

#include "net/http_client.h"
#include "net/testing/test_server.h"
#include "net/url.h"

namespace strake::net::foreign_url_test {

TEST(ForeignUrl, IsRefusedByItsText) {
  for (const char* url : {"http://127.0.0.1/",
                          "http://127.0.0.1:8080/a",
                          "https://127.1/",
                          "http://2130706433/",
                          "http://0x7f.1/",
                          "http://0x7f000001/",
                          "http://0177.0.0.1/",
                          "http://017700000001/",
                          "http://0/",
                          "http://0.0.0.0/",
                          "http://localhost/",
                          "http://LOCALHOST./",
                          "http://a.localhost/",
                          "http://[::1]/",
                          "http://[::]/",
                          "http://[0:0:0:0:0:0:0:1]/",
                          "http://[::ffff:127.0.0.1]/",
                          "http://[::ffff:7f00:1]/",
                          "http://[::127.0.0.1]/",
                          "http://[64:ff9b::7f00:1]/",
                          "http://[2002:7f00:1::]/",
                          "http://169.254.169.254/latest/meta-data",
                          "http://[fe80::1]/",
                          "http://[fd00:ec2::254]/",
                          "http://[::ffff:169.254.169.254]/",
                          "http://224.0.0.1/",
                          "http://255.255.255.255/",
                          "file:///etc/passwd",
                          "FILE:///etc/passwd",
                          "file://localhost/etc/passwd"}) {
    const Status outcome = check_foreign_url(url, {});
    EXPECT_FALSE(outcome.ok()) << url;
    if (outcome.ok()) continue;
    EXPECT_EQ(outcome.error().verdict(), Verdict::kBlocked) << url << outcome.error().to_string();
  }
  for (const char* url : {"ftp://example.com/", "gopher://x/", "http://", "/etc/passwd", "http://exa\nmple.com/",
                          "http://example.com/%00", "http://example.com/a%0Ab", ""}) {
    EXPECT_FALSE(check_foreign_url(url, {}).ok()) << url;
  }
  EXPECT_FALSE(check_foreign_url(std::string_view("http://example.com/\0x", 21), {}).ok());
  for (const char* url : {"https://mirror.example.com/a", "http://10.0.0.5:8080/", "https://192.168.1.1/x",
                          "https://127.example.com/", "http://[2001:db8::1]/", "http://128.0.0.1/"}) {
    EXPECT_TRUE(check_foreign_url(url, {}).ok()) << url;
  }
}

TEST(ForeignUrl, IsAllowedByAPrefixAtBordersOnly) {
  const ForeignUrlRules rules{{"http://127.0.0.1:8080/images", "file:///srv/lab/"}};
  for (const char* url : {"http://127.0.0.1:8080/images", "http://127.0.0.1:8080/images/a/b", "file:///srv/lab/x",
                          "file:///srv/lab", "http://127.0.0.1:8080//images/a"}) {
    EXPECT_TRUE(check_foreign_url(url, rules).ok()) << url;
  }
  for (const char* url : {"http://127.0.0.1:8080/imagesX", "http://127.0.0.1:8080/", "http://127.0.0.1:80/images/",
                          "http://127.0.0.1/images", "https://127.0.0.1:8080/images",
                          "http://127.0.0.1:8080/images/../secret", "http://127.0.0.1:8080/images/%2e%2e/secret",
                          "http://127.0.0.1:8080/images/..%2fsecret", "file:///srv/laboratory",
                          "file:///srv/lab/../../etc/passwd", "file:///srv/lab/%2e%2e/x", "file:///srv/lab/a%00b"}) {
    EXPECT_FALSE(check_foreign_url(url, rules).ok()) << url;
  }
  EXPECT_TRUE(check_location_prefix("file:///srv/lab").ok());
  for (const char* prefix : {"127.0.0.1", "/srv/lab", "ftp://x/", "file://srv", ""}) {
    EXPECT_FALSE(check_location_prefix(prefix).ok()) << prefix;
  }
}

TEST(ForeignUrl, AddressesAreKnown) {
  const auto of = [](const char* text) {
    sockaddr_in four{};
    sockaddr_in6 six{};
    four.sin_family = AF_INET;
    six.sin6_family = AF_INET6;
    if (inet_pton(AF_INET, text, &four.sin_addr) == 1) return forbidden_address(reinterpret_cast<sockaddr&>(four));
    EXPECT_EQ(inet_pton(AF_INET6, text, &six.sin6_addr), 1) << text;
    return forbidden_address(reinterpret_cast<sockaddr&>(six));
  };
  for (const char* address : {"127.0.0.1", "127.255.255.255", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1"}) {
    EXPECT_EQ(of(address), "this machine") << address;
  }
  for (const char* address : {"169.254.169.254", "fe80::1", "febf::1", "::ffff:169.254.0.1"}) {
    EXPECT_EQ(of(address), "this link") << address;
  }
  for (const char* address : {"10.1.2.3", "192.0.2.1", "2001:db8::1", "fd12::1", "::ffff:10.0.0.1"}) {
    EXPECT_EQ(of(address), "") << address;
  }
}

/// A server on the loopback: what everything below must not reach unless it is allowed.
class ForeignClient : public ::testing::Test {
 protected:
  ForeignClient()
      : server_([this](const ServerRequest& request, const Responder& responder) {
          ++asked_;
          Response response;
          response.status = 200;
          if (request.target.path == "/images/away") {
            response.status = 302;
            response.headers.add("Location", redirect_);
          }
          responder.send(response);
        }) {}

  Result<Response> get(const std::string& url, ForeignUrlRules rules = {}) {
    if (!client_) {
      ClientOptions options = server_.client_options();
      options.foreign_urls = std::move(rules);
      options.known_addresses = {{fmt::format("innocent.test:{}", port()), "127.0.0.1"}};
      client_.emplace(testing::TestServer::client(std::move(options)));
    }
    return client_->send({"GET", url, {}, {}});
  }
  std::uint16_t port() const { return server_port_; }
  std::string url(const std::string& host, const std::string& path) const {
    return fmt::format("https://{}:{}{}", host, port(), path);
  }

  testing::TestServer server_;
  const std::uint16_t server_port_ = parse_url(server_.url("/"))->port.value();
  std::optional<HttpClient> client_;
  std::string redirect_;
  std::atomic<int> asked_ = 0;
};

TEST_F(ForeignClient, ANameThatIsThisMachineIsNotAsked) {
  const auto answer = get(url("innocent.test", "/images/a"));
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().verdict(), Verdict::kBlocked) << answer.error().to_string();
  EXPECT_NE(answer.error().to_string().find("leads to this machine"), std::string::npos) << answer.error().to_string();
  EXPECT_EQ(asked_, 0);
}

TEST_F(ForeignClient, WhatIsAllowedOpensNoWayForOthers) {
  const ForeignUrlRules rules{{url("127.0.0.1", "/images/")}};
  const auto answer = get(url("127.0.0.1", "/images/a"), rules);
  ASSERT_TRUE(answer.ok()) << answer.error().to_string();
  EXPECT_EQ(answer->status, 200);
  EXPECT_FALSE(get(url("127.0.0.1", "/secret")).ok());
  EXPECT_FALSE(get(url("127.0.0.1", "/images/../secret")).ok());
  for (const std::string& target : {url("127.0.0.1", "/secret"), url("innocent.test", "/a"), url("[::1]", "/"),
                                    std::string("file:///etc/passwd"), std::string("//localhost/")}) {
    redirect_ = target;
    asked_ = 0;
    EXPECT_FALSE(get(url("127.0.0.1", "/images/away")).ok()) << target;
    EXPECT_EQ(asked_, 1) << "only the redirect itself: " << target;
  }
  redirect_ = url("127.0.0.1", "/images/b");
  EXPECT_TRUE(get(url("127.0.0.1", "/images/away")).ok());
}

}  // namespace strake::net::foreign_url_test
