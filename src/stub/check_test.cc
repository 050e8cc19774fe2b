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
                               bool token_required = false) {
  const auto stub = read_stub(text);
  EXPECT_TRUE(stub.ok()) << stub.error().to_string();
  std::vector<std::string> rules;
  for (const StubFinding& finding :
       check_stub({*stub, now(), server == nullptr ? nullptr : &server->identity, std::move(pools), token_required})) {
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
  EXPECT_EQ(rules(stub_for(kUrl, pem), nullptr, std::nullopt, true),
            (Rules{"error no-token", "warning authority-ends"}));
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
