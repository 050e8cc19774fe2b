// Authorities are parsed once and shared by connections; what is accepted must not depend on that.
#include "net/client_trust.h"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "net/testing/test_server.h"
#include "support/temp_dir.h"

namespace strake::net::client_trust_test {

using namespace std::chrono_literals;
using testing::TestAuthority;
using testing::TestServer;

void answer_ok(const ServerRequest&, const Responder& responder) { responder.send(Response{200, {}, "ok"}); }

/// A server that shows this certificate.
HttpsServer serve(const testing::TestIdentity& identity) {
  ServerOptions options;
  options.certificate_pem = identity.certificate_pem;
  options.key_pem = identity.key_pem;
  return HttpsServer::start(options, answer_ok).value();
}

/// What a client with these options gets from a server: the status, or the code of its error.
std::string outcome(const HttpClient& client, const HttpsServer& server) {
  const auto answer = client.send({"GET", fmt::format("https://localhost:{}/", server.port()), {}, {}});
  return answer.ok() ? fmt::format("{}", answer->status) : std::string(to_string(answer.error().code()));
}

/// Stands in for the roots of the machine.
class ClientTrustTest : public ::testing::Test {
 protected:
  ClientTrustTest() {
    write_roots(roots_.pem());
    ::setenv("SSL_CERT_FILE", (dir_ / "roots.pem").c_str(), 1);
  }
  ~ClientTrustTest() override { ::unsetenv("SSL_CERT_FILE"); }

  void write_roots(const std::string& pem) {
    std::ofstream(dir_ / "new.pem") << pem;
    std::filesystem::rename(dir_ / "new.pem", dir_ / "roots.pem");
  }
  HttpClient client(const std::string& ca_pem, bool also_system_roots) const {
    ClientOptions options;
    options.ca_pem = ca_pem;
    options.also_trust_system_roots = also_system_roots;
    options.proxy = ProxySettings{};
    return HttpClient::create(options).value();
  }

  test::TempDir dir_;
  TestAuthority roots_{"a root of the machine"}, own_{"a private authority"}, stranger_{"a stranger"};
};

TEST_F(ClientTrustTest, WhoIsTrusted) {
  struct Case {
    const char* name;
    bool own, system;
    const char *own_server, *system_server, *strange_server;
  };
  const Case cases[] = {
      {"own alone", true, false, "200", "denied", "denied"},
      {"own and the machine's", true, true, "200", "200", "denied"},
      {"the machine's", false, false, "denied", "200", "denied"},
  };
  const HttpsServer by_own = serve(own_.server()), by_root = serve(roots_.server()),
                    by_stranger = serve(stranger_.server());
  for (const Case& c : cases) {
    const HttpClient tested = client(c.own ? own_.pem() : "", c.system);
    for (int connection = 0; connection < 2; ++connection) {
      EXPECT_EQ(outcome(tested, by_own), c.own_server) << c.name;
      EXPECT_EQ(outcome(tested, by_root), c.system_server) << c.name;
      EXPECT_EQ(outcome(tested, by_stranger), c.strange_server) << c.name;
    }
  }
}

TEST_F(ClientTrustTest, CertificatesThatAreNotGoodEnough) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto issue = [&](TestAuthority& authority, auto change) {
    LeafRequest request;
    request.common_name = "localhost";
    request.dns_names = {"localhost"};
    request.server_auth = true;
    request.validity = {now - 1h, now + 1h};
    change(request);
    return authority.issue(request);
  };
  struct Case {
    const char* name;
    std::function<void(LeafRequest&)> change;
    const char* expected;
  };
  const Case cases[] = {
      {"good", [](LeafRequest&) {}, "200"},
      {"expired", [&](LeafRequest& r) { r.validity = {now - 48h, now - 24h}; }, "denied"},
      {"not yet valid", [&](LeafRequest& r) { r.validity = {now + 24h, now + 48h}; }, "denied"},
      {"another host", [](LeafRequest& r) { r.dns_names = {"elsewhere.example"}; }, "denied"},
      {"for clients", [](LeafRequest& r) { r.server_auth = false, r.client_auth = true; }, "denied"},
  };
  const HttpClient tested = client(own_.pem(), true);
  for (const Case& c : cases) {
    EXPECT_EQ(outcome(tested, serve(issue(own_, c.change))), c.expected) << c.name;
    EXPECT_EQ(outcome(tested, serve(issue(roots_, c.change))), c.expected) << c.name << ", by a root of the machine";
    EXPECT_EQ(outcome(tested, serve(issue(stranger_, c.change))), "denied") << c.name << ", by a stranger";
  }
}

TEST_F(ClientTrustTest, RootsThatChangeCountForNewClients) {
  const HttpsServer by_root = serve(roots_.server()), by_stranger = serve(stranger_.server());
  const HttpClient before = client("", false);
  EXPECT_EQ(outcome(before, by_root), "200");
  write_roots(stranger_.pem());
  const HttpClient after = client("", false);
  EXPECT_EQ(outcome(after, by_root), "denied");
  EXPECT_EQ(outcome(after, by_stranger), "200");
  EXPECT_EQ(outcome(before, by_root), "200");
  EXPECT_EQ(outcome(before, by_stranger), "denied");
  write_roots("no certificates");
  ClientOptions options;
  const auto refused = HttpClient::create(options);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().to_string().find("roots.pem"), std::string::npos) << refused.error().to_string();
}

TEST_F(ClientTrustTest, APinnedAuthorityIsTheOnlyOne) {
  const auto client_with = [](const std::string& pin) {
    ClientOptions options;
    options.ca_sha256 = pin;
    options.proxy = ProxySettings{};
    return HttpClient::create(options);
  };
  const auto shows = [](testing::TestIdentity identity, const std::string& more) {
    identity.certificate_pem += more;
    return serve(identity);
  };
  const std::string pin = own_.certificate().info().sha256;
  const auto client = client_with(pin);
  ASSERT_TRUE(client.ok()) << client.error().to_string();
  EXPECT_EQ(outcome(*client, shows(own_.server(), own_.pem())), "200");
  EXPECT_EQ(outcome(*client, shows(own_.server(), stranger_.pem() + own_.pem())), "200") << "wherever it stands";
  const std::string denied(to_string(Code::kDenied));
  EXPECT_EQ(outcome(*client, shows(own_.server(), "")), denied) << "it is not shown";
  EXPECT_EQ(outcome(*client, shows(stranger_.server(), stranger_.pem())), denied);
  EXPECT_EQ(outcome(*client, shows(stranger_.server(), own_.pem())), denied) << "shown by a stranger";
  EXPECT_EQ(outcome(*client, shows(roots_.server(), roots_.pem())), denied) << "the machine's roots do not count";
  // The name must fit, and the certificate must be for servers.
  LeafRequest elsewhere;
  elsewhere.common_name = "elsewhere";
  elsewhere.dns_names = {"elsewhere.example"};
  elsewhere.server_auth = true;
  EXPECT_EQ(outcome(*client, shows(own_.issue(elsewhere), own_.pem())), denied);
  EXPECT_EQ(outcome(*client, shows(own_.client("localhost"), own_.pem())), denied);
  for (const char* wrong : {"abc", "sha256:00", "G123456789012345678901234567890123456789012345678901234567890123"}) {
    EXPECT_FALSE(client_with(wrong).ok()) << wrong;
  }
}

}  // namespace strake::net::client_trust_test
