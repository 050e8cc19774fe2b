#include "oci/registry/registry_protocol.h"

#include <gtest/gtest.h>

namespace strake::oci::registry_protocol_test {

const Challenge kBearer{"bearer", {{"realm", "https://auth.example/token?a=b"}, {"service", "reg"}, {"scope", "x"}}};

TEST(TokenRequest, AsksForItsOwnScope) {
  const Scope scope{"org/os", true, "org/base"};
  const auto anonymous = plan_token_request(kBearer, scope, std::nullopt, false);
  ASSERT_TRUE(anonymous.ok()) << anonymous.error().to_string();
  EXPECT_EQ(
      anonymous->url,
      "https://auth.example/token?a=b&service=reg&scope=repository%3Aorg%2Fos%3Apull%2Cpush&scope=repository%3Aorg"
      "%2Fbase%3Apull");
  EXPECT_FALSE(anonymous->headers.has("Authorization"));
  const auto known = plan_token_request(kBearer, Scope{"os"}, Credentials{"bot", "pw"}, false);
  EXPECT_EQ(known->headers.get("Authorization"), "Basic Ym90OnB3");
  EXPECT_EQ(known->url, "https://auth.example/token?a=b&service=reg&scope=repository%3Aos%3Apull&account=bot");
  const auto refresh = plan_token_request(kBearer, Scope{"os"}, Credentials{"", "", "secret/token"}, false);
  EXPECT_EQ(refresh->method, "POST");
  EXPECT_EQ(refresh->url, "https://auth.example/token?a=b");
  EXPECT_NE(refresh->body.find("refresh_token=secret%2Ftoken"), std::string::npos) << refresh->body;
}

TEST(TokenRequest, CredentialsGoNowhereWithoutTls) {
  Challenge plain = kBearer;
  plain.parameters["realm"] = "http://auth.example/token";
  EXPECT_EQ(plan_token_request(plain, Scope{"os"}, Credentials{"bot", "pw"}, false).error().code(), Code::kDenied);
  plain.parameters["realm"] = "https://user:pw@auth.example/token";
  EXPECT_EQ(plan_token_request(plain, Scope{"os"}, std::nullopt, false).error().code(), Code::kDenied);
  plain.parameters["realm"] = "file:///etc/passwd";
  EXPECT_FALSE(plan_token_request(plain, Scope{"os"}, std::nullopt, false).ok());
}

TEST(Token, IsReadWithoutBeingQuoted) {
  struct Case {
    const char* name;
    const char* body;
    const char* value;  ///< nullptr: refused
    int seconds = 60;
  };
  const Case cases[] = {
      {"token", R"({"token":"hunter2","expires_in":300})", "hunter2", 300},
      {"access token", R"({"access_token":"hunter2"})", "hunter2"},
      {"too short a life", R"({"token":"hunter2","expires_in":1})", "hunter2"},
      {"too long a life", R"({"token":"hunter2","expires_in":99999999})", "hunter2", 3600},
      {"none", R"({"secret":"hunter2"})", nullptr},
      {"not JSON", "hunter2", nullptr},
      {"line break", R"({"token":"hunter2\r\nX: y"})", nullptr},
  };
  for (const Case& c : cases) {
    const auto token = parse_token(c.body);
    ASSERT_EQ(token.ok(), c.value != nullptr) << c.name;
    if (token.ok()) {
      EXPECT_EQ(token->value, c.value) << c.name;
      EXPECT_EQ(token->lifetime.count(), c.seconds) << c.name;
    } else {
      EXPECT_EQ(token.error().to_string().find("hunter2"), std::string::npos) << c.name;
    }
  }
}

TEST(RegistryAnswer, ErrorsQuoteTheRegistry) {
  const auto text = [](int status, std::string body, net::Headers headers = {}) {
    return registry_error({status, std::move(headers), std::move(body)}, {});
  };
  EXPECT_NE(text(404, R"({"errors":[{"code":"MANIFEST_UNKNOWN","message":"no such\nthing"}]})")
                .to_string()
                .find("404 Not Found: no such thing (MANIFEST_UNKNOWN)"),
            std::string::npos);
  EXPECT_EQ(text(404, "<html>").code(), Code::kNotFound);
  EXPECT_LT(
      text(500, fmt::format(R"({{"errors":[{{"message":"{}"}}]}})", std::string(100'000, 'x'))).to_string().size(),
      500u);
  EXPECT_EQ(text(503, "", {{"Retry-After", "7"}}).retry_after(), std::chrono::seconds(7));
  EXPECT_TRUE(text(429, "").retry_after().has_value());
}

TEST(RegistryAnswer, Ranges) {
  struct Case {
    const char* text;
    bool good;
    std::uint64_t first = 0;
  };
  for (const Case& c : {Case{"bytes 7-99/100", true, 7}, Case{"bytes 0-0/*", true, 0}, Case{"bytes 9-7/100", false},
                        Case{"bytes 7-100/100", false}, Case{"7-99/100", false}, Case{"bytes */100", false},
                        Case{"bytes 99999999999999999999-1/2", false}, Case{"", false}}) {
    const auto range = parse_content_range(c.text);
    ASSERT_EQ(range.has_value(), c.good) << c.text;
    if (range) {
      EXPECT_EQ(range->first, c.first) << c.text;
    }
  }
  EXPECT_EQ(parse_upload_range("0-1023"), 1024u);
  EXPECT_EQ(parse_upload_range("0-0"), 0u);
  EXPECT_EQ(parse_upload_range("bytes=0-9"), 10u);
  EXPECT_FALSE(parse_upload_range("5-9").has_value());
}

TEST(RegistryAnswer, ManifestsAreHeldToTheirDigest) {
  const std::string bytes =
      fmt::format(R"({{"schemaVersion":2,"mediaType":"{}","manifests":[]}})", media_type::kOciIndex);
  const std::string digest = codec::Digest::sha256_of(bytes).to_string();
  const std::string other = codec::Digest::sha256_of("other").to_string();
  const std::string index(media_type::kOciIndex);
  struct Case {
    const char* name;
    net::Headers headers;
    std::string asked;
    bool good;
  };
  const Case cases[] = {
      {"by tag", {{"Content-Type", index}}, "v1", true},
      {"by digest", {{"Content-Type", index + "; charset=utf-8"}}, digest, true},
      {"type unknown", {{"Content-Type", "text/plain"}}, "v1", true},
      {"another digest", {{"Content-Type", index}}, other, false},
      {"announced digest", {{"Content-Type", index}, {"Docker-Content-Digest", other}}, "v1", false},
      {"another type", {{"Content-Type", std::string(media_type::kOciManifest)}}, "v1", false},
  };
  for (const Case& c : cases) {
    const auto described = describe_manifest(bytes, c.headers, c.asked);
    EXPECT_EQ(described.ok(), c.good) << c.name;
    if (described.ok()) {
      EXPECT_EQ(described->media_type, index) << c.name;
    }
  }
}

TEST(Challenges, BearerBeforeBasic) {
  EXPECT_EQ(
      choose_challenge({{"WWW-Authenticate", "Basic realm=a"}, {"WWW-Authenticate", "Bearer realm=\"b\""}})->scheme,
      "bearer");
  EXPECT_EQ(choose_challenge({{"WWW-Authenticate", "Bearer error=x, Basic realm=a"}})->scheme, "basic");
  const auto none = choose_challenge({{"WWW-Authenticate", "Negotiate"}});
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().to_string().find("negotiate"), std::string::npos);
}

}  // namespace strake::oci::registry_protocol_test
