#include "net/url.h"

#include <gtest/gtest.h>

namespace strake::net::url_test {
namespace {

TEST(UrlTest, PartsOfAnAbsoluteUrl) {
  const auto url = parse_url("HTTPS://User:p%40ss@Example.COM:8443/v2/a%2Fb/?digest=sha256%3Aab&x");
  ASSERT_TRUE(url.ok()) << url.error().to_string();
  EXPECT_EQ(url->scheme, "https");
  EXPECT_EQ(url->user, "User");
  EXPECT_EQ(url->password, "p@ss");
  EXPECT_EQ(url->host, "example.com");
  EXPECT_EQ(url->port, 8443);
  EXPECT_EQ(url->path, "/v2/a%2Fb/");
  EXPECT_EQ(url->query, "digest=sha256%3Aab&x");
  EXPECT_EQ(url->to_string(), "https://User:p%40ss@example.com:8443/v2/a%2Fb/?digest=sha256%3Aab&x");
  EXPECT_EQ(url->redacted(), "https://example.com:8443/v2/a%2Fb/");
}

TEST(UrlTest, OriginsIncludeTheDefaultPort) {
  EXPECT_EQ(parse_url("https://a")->origin(), "https://a:443");
  EXPECT_EQ(parse_url("https://a:443/x")->origin(), parse_url("https://A/y")->origin());
  EXPECT_NE(parse_url("http://a")->origin(), parse_url("https://a")->origin());
  EXPECT_EQ(parse_url("https://[::1]:6443/api")->host, "::1");
  EXPECT_EQ(parse_url("https://[::1]:6443/api")->to_string(), "https://[::1]:6443/api");
}

TEST(UrlTest, RefusesWhatIsNotAUrl) {
  for (const std::string& text : {std::string(), std::string("example.com/x"), std::string("/x"),
                                  std::string("ftp://a/"), std::string("https://"), std::string("https://a:99999/"),
                                  std::string("https://a:0/"), std::string("https://a b/"), std::string("https://a/\n"),
                                  std::string("file:///etc/passwd"), std::string("https://a%00b/"),
                                  std::string("https://a:84s3/x"), "https://a/" + std::string(kMaxUrlBytes, 'x')}) {
    EXPECT_FALSE(parse_url(text).ok()) << text.substr(0, 80);
  }
}

TEST(UrlTest, ResolvesReferences) {
  const Url base = *parse_url("https://registry.example:5000/v2/name/blobs/uploads/?old=1");
  struct Case {
    const char* reference;
    const char* expected;
  };
  for (const Case& c : {Case{"/v2/x?_state=a%3D%3D", "https://registry.example:5000/v2/x?_state=a%3D%3D"},
                        Case{"u1", "https://registry.example:5000/v2/name/blobs/uploads/u1"},
                        Case{"https://other/y", "https://other/y"}, Case{"//other/z", "https://other/z"}}) {
    const auto resolved = resolve(base, c.reference);
    ASSERT_TRUE(resolved.ok()) << c.reference << ": " << resolved.error().to_string();
    EXPECT_EQ(resolved->to_string(), c.expected);
  }
  EXPECT_FALSE(resolve(base, "javascript:alert(1)").ok());
}

TEST(UrlTest, QueryIsAppendedEncoded) {
  Url url = *parse_url("https://a/x");
  url.add_query("labelSelector", "a in (b,c)");
  url.add_query("watch", "1");
  EXPECT_EQ(url.to_string(), "https://a/x?labelSelector=a%20in%20%28b%2Cc%29&watch=1");
}

TEST(TargetTest, SegmentsAreDecodedOneByOne) {
  const auto target = parse_target("/api/v1/namespaces/a%2Fb/pods/?watch=true&x=1&x=%20+2&empty&=nameless#fragment");
  ASSERT_TRUE(target.ok()) << target.error().to_string();
  EXPECT_EQ(target->path, "/api/v1/namespaces/a%2Fb/pods/");
  EXPECT_EQ(target->segments, (std::vector<std::string>{"api", "v1", "namespaces", "a/b", "pods"}));
  EXPECT_EQ(target->query.get("watch"), "true");
  EXPECT_EQ(target->query.all("x"), (std::vector<std::string_view>{"1", "  2"}));
  EXPECT_EQ(target->query.get("empty"), "");
  EXPECT_EQ(target->query.size(), 5U);
  EXPECT_TRUE(parse_target("/")->segments.empty());
  EXPECT_EQ(parse_target("https://host:1/a?b=c")->segments, (std::vector<std::string>{"a"}));
}

TEST(TargetTest, RefusesTricksAndExcess) {
  std::string many_segments;
  for (std::size_t i = 0; i <= kMaxPathSegments; ++i) many_segments += "/a";
  std::string many_parameters = "/?";
  for (std::size_t i = 0; i <= kMaxQueryParameters; ++i) many_parameters += "a=1&";
  for (const std::string& text :
       {std::string("*"), std::string(""), std::string("host:443"), std::string("/a//b"), std::string("/a/../b"),
        std::string("/a/%2e%2E/b"), std::string("/."), std::string("/%00"), std::string("/a%0d%0ab"), std::string("/%"),
        std::string("/%4"), std::string("/%zz"), std::string("/?a=%f"), many_segments, many_parameters,
        "/" + std::string(kMaxUrlBytes, 'x')}) {
    EXPECT_FALSE(parse_target(text).ok()) << text.substr(0, 80);
  }
}

TEST(PercentTest, EncodesAndDecodes) {
  std::string all;
  for (int c = 0; c < 256; ++c) all.push_back(static_cast<char>(c));
  EXPECT_EQ(*percent_decode(percent_encode(all)), all);
  EXPECT_EQ(percent_encode("a-b._~/ ä"), "a-b._~%2F%20%C3%A4");
  EXPECT_EQ(encode_path({"a", "b/c"}), "/a/b%2Fc");
  EXPECT_EQ(encode_path({}), "/");
  EXPECT_EQ(*percent_decode("a+b"), "a+b");
}

}  // namespace
}  // namespace strake::net::url_test
