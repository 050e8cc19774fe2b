#include "stub/check.h"

#include <gtest/gtest.h>

#include "codec/base64.h"
#include "net/testing/test_authority.h"

namespace strake::stub::check_test {

using namespace std::chrono_literals;

std::chrono::sys_seconds now() { return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()); }

std::string stub_for(std::string_view url, std::string_view pem, std::string_view version = "3.1.0") {
  return fmt::format(
      R"({{"ignition":{{"config":{{"{}":[{{"source":"{}"}}]}},"security":{{"tls":{{"certificateAuthorities":[)"
      R"({{"source":"data:;base64,{}"}}]}}}},"version":"{}"}}}})",
      version.starts_with("2") ? "append" : "merge", url, codec::encode_base64(pem), version);
}

struct Server {
  explicit Server(const std::vector<std::string>& dns, std::chrono::hours life = 24h * 365) {
    net::LeafRequest request;
    request.common_name = "system:machine-config-server";
    request.dns_names = dns;
    request.server_auth = true;
    request.validity = {now() - 1h, now() + life};
    identity.chain = {*net::Certificate::from_pem(authority.issue(request).certificate_pem)};
  }
  net::testing::TestAuthority authority{"mcs"};
  ServerIdentity identity;
};

std::vector<std::string> rules(const std::string& text, const Server* server,
                               std::optional<std::vector<std::string>> pools = std::nullopt,
                               const AccessBook* access = nullptr) {
  const auto stub = read_stub(text);
  EXPECT_TRUE(stub.ok()) << stub.error().to_string();
  std::vector<std::string> rules;
  for (const StubFinding& finding :
       check_stub({*stub, now(), server == nullptr ? nullptr : &server->identity, std::move(pools), access})) {
    rules.push_back(fmt::format("{} {}", to_string(finding.severity), finding.rule));
    EXPECT_FALSE(finding.what.empty());
    EXPECT_FALSE(finding.next.empty());
  }
  return rules;
}

using Rules = std::vector<std::string>;
constexpr const char* kUrl = "https://api-int.example:22623/config/worker";

TEST(CheckStub, ASoundOneHasNothingAgainstIt) {
  // A test authority lives until tomorrow, which is worth a warning of its own; everything else is as it should be.
  Server server({"api-int.example"});
  const Rules found = rules(stub_for(kUrl, server.authority.pem()), &server, {{"master", "worker"}});
  EXPECT_EQ(found, Rules{"warning authority-ends"});
}

TEST(CheckStub, ATokenIsJudgedAsTheServerWould) {
  const std::string pem = net::testing::TestAuthority("mcs").pem();
  const auto record = [](const std::string& token, std::chrono::hours since, std::chrono::hours until) {
    return TokenRecord{token, "worker", token_sha256(token), now() - since, now() + until};
  };
  std::vector<TokenRecord> tokens{record("good", 1h, 100h),  record("ended", 100h, -1h), record("revoked", 1h, 100h),
                                  record("other", 1h, 100h), record("spent", 1h, 100h),  record("due", 90h, 10h)};
  tokens[2].revoked = now();
  tokens[3].pool = "infra";
  tokens[4].max_uses = 2;
  const AccessBook open(AccessMode::kOpen, tokens, ""), require(AccessMode::kRequire, tokens, "");
  const std::map<std::string, std::uint64_t> uses{{"spent", 2}};
  const auto found = [&](const std::string& text, const AccessBook& access) {
    const auto stub = read_stub(text);
    StubCheckInput input{*stub, now()};
    input.access = &access;
    input.uses = &uses;
    std::string said;
    for (const StubFinding& finding : check_stub(input)) {
      if (!is_about_tokens(finding.rule)) continue;
      said += fmt::format("{} {}", to_string(finding.severity), finding.rule);
      EXPECT_EQ(finding.what.find("strake-stub-"), std::string::npos);
    }
    return said;
  };
  const auto with = [&](const std::string& token) { return *with_token(stub_for(kUrl, pem), "worker", token); };
  const std::tuple<std::string, const char*, const char*> cases[] = {
      {stub_for(kUrl, pem), "", "error no-token"},
      {stub_for(kUrl, pem, "2.2.0"), "", "error no-token"},
      {with("good"), "", ""},
      {with("nobody"), "warning bad-token", "error bad-token"},
      {with("revoked"), "warning bad-token", "error bad-token"},
      {with("spent"), "warning bad-token", "error bad-token"},
      {with("other"), "warning wrong-pool", "error wrong-pool"},
      {with("ended"), "warning token-ends", "error token-ends"},
      {with("due"), "warning token-ends", "warning token-ends"},
  };
  for (const auto& [text, when_open, when_required] : cases) {
    EXPECT_EQ(found(text, open), when_open);
    EXPECT_EQ(found(text, require), when_required);
  }
}

TEST(CheckStub, EveryRule) {
  Server server({"api-int.example"});
  Server nameless({});
  Server other({"other.example"});
  Server ending({"api-int.example"}, 24h * 5);
  const std::string pem = server.authority.pem();
  const Rules ends{"warning authority-ends"};
  EXPECT_EQ(rules(stub_for(kUrl, pem, "2.2.0"), nullptr), (Rules{"error old-spec", "warning authority-ends"}));
  EXPECT_EQ(rules(stub_for("http://api-int.example/config/worker", pem), nullptr),
            (Rules{"error not-https", "warning authority-ends"}));
  EXPECT_EQ(rules(stub_for("https://api-int.example/a.ign", pem), nullptr),
            (Rules{"warning no-pointer", "warning authority-ends"}));
  EXPECT_EQ(rules(stub_for(kUrl, "rubbish"), nullptr), Rules{"error bad-authority"});
  EXPECT_EQ(rules(stub_for(kUrl, pem), nullptr, {{"master"}}), (Rules{"error no-pool", "warning authority-ends"}));
  EXPECT_EQ(rules(stub_for(kUrl, pem), &other),
            (Rules{"error unknown-host", "error untrusted", "warning authority-ends"}));
  EXPECT_EQ(rules(stub_for(kUrl, nameless.authority.pem()), &nameless),
            (Rules{"error unknown-host", "warning authority-ends"}));
  EXPECT_EQ(rules(stub_for(kUrl, ending.authority.pem()), &ending),
            (Rules{"warning authority-ends", "warning server-ends"}));
  EXPECT_EQ(rules(fmt::format(R"({{"ignition":{{"version":"3.1.0","config":{{"merge":[{{"source":"{}"}}]}}}}}})", kUrl),
                  nullptr),
            Rules{"warning no-authority"});
}

}  // namespace strake::stub::check_test
