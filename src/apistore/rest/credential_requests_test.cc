#include "apistore/rest/credential_requests.h"

#include <gtest/gtest.h>

namespace strake::apistore::rest::credential_requests_test {

using namespace std::chrono_literals;

TEST(CredentialRequests, ATokenHasAnEndAndAnOwner) {
  const auto token = parse_token_request(R"({"role":"viewer","user":"ann","lifetimeSeconds":3600})");
  ASSERT_TRUE(token.ok()) << token.error().to_string();
  EXPECT_EQ(token->subject.user, "ann");
  EXPECT_EQ(token->lifetime, 1h);
  EXPECT_FALSE(token->join);
  EXPECT_EQ(parse_token_request(R"({"role":"viewer","user":"ann"})")->lifetime, 24h);
  const auto join = parse_token_request(R"({"role":"agent","node":"w1","join":true})");
  ASSERT_TRUE(join.ok()) << join.error().to_string();
  EXPECT_EQ(join->subject.user, "strake:agent:w1");
  EXPECT_EQ(join->node_role, "worker");
}

TEST(CredentialRequests, WhatMakesNoSenseIsNamed) {
  struct Case {
    std::string body;
    std::string message;
  };
  const Case cases[] = {
      {"", "the body is no JSON"},
      {"[]", "the body is no JSON object"},
      {R"({"role":"root","user":"ann"})", "'root' is no role"},
      {R"({"role":"viewer"})", "needs a user name"},
      {R"({"role":"viewer","user":"system:admin"})", "begin with system:"},
      {R"({"role":"viewer","user":"ann","lifetime":"1h"})", "the field \"lifetime\" is not known here"},
      {R"({"role":"viewer","user":"ann","lifetimeSeconds":"1"})", "lifetimeSeconds is no whole number"},
      {R"({"role":"viewer","user":"ann","lifetimeSeconds":1})", "from a minute to 365 days"},
      {R"({"role":"viewer","user":"ann","lifetimeSeconds":99999999})", "from a minute to 365 days"},
      {R"({"role":"agent","node":"w1","join":true,"lifetimeSeconds":9999999})", "from a minute to 30 days"},
      {R"({"role":"viewer","user":"ann","join":true})", "only an agent joins"},
      {R"({"role":"agent","node":"../x","join":true})", "cannot be a node's name"},
      {R"({"role":"agent","node":"W1","join":true})", "cannot be a node's name"},
      {R"({"role":"agent","node":"w\u0000","join":true})", "cannot be a node's name"},
      {R"({"role":"agent","node":"w1","join":true,"nodeRole":"a/b"})", "cannot be a node's role"},
      {R"({"role":"agent","node":"w1","nodeRole":"infra"})", "nodeRole is for tokens to join with"},
      {R"({"role":"agent","node":"w1","join":"yes"})", "join is neither true nor false"},
  };
  for (const Case& c : cases) {
    const auto token = parse_token_request(c.body);
    ASSERT_FALSE(token.ok()) << c.body;
    EXPECT_NE(token.error().to_string().find(c.message), std::string::npos)
        << c.body << ": " << token.error().to_string();
  }
  const auto large = parse_signing_request(R"({"request":")" + std::string(1u << 20, 'x') + R"("})");
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().reason(), "RequestEntityTooLarge");
}

TEST(CredentialRequests, ARevocationNamesOneThing) {
  EXPECT_EQ(parse_revocation_request(R"({"id":"x"})")->reason, "revoked");
  EXPECT_EQ(parse_revocation_request(R"({"user":"x","reason":"left\nus\u001b"})")->reason, "left us\\u001b");
  EXPECT_FALSE(parse_revocation_request(R"({"id":"x","user":"y"})").ok());
  EXPECT_FALSE(parse_revocation_request("{}").ok());
}

TEST(CredentialRequests, ACertificateNeedsARequest) {
  EXPECT_FALSE(parse_certificate_order(R"({"role":"viewer","user":"ann"})").ok());
  EXPECT_EQ(parse_certificate_order(R"({"role":"viewer","user":"ann","request":"x","lifetimeSeconds":60})")->lifetime,
            1h);
  EXPECT_FALSE(parse_signing_request("{}").ok());
  EXPECT_FALSE(parse_rotation_request("{}").ok());
}

}  // namespace strake::apistore::rest::credential_requests_test
