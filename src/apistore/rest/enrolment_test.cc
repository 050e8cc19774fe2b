// Credentials as clients get, renew and lose them: over HTTPS, from the API server itself.
#include "apistore/rest/enrolment.h"

#include <gtest/gtest.h>

#include "apistore/rest/api_server.h"
#include "base/fd.h"
#include "base/time.h"
#include "kube/kubeconfig.h"
#include "net/http_client.h"
#include "support/temp_dir.h"

namespace strake::apistore::rest::enrolment_test {

using namespace std::chrono_literals;

/// A key with what was signed for it.
struct Holder {
  net::PrivateKey key;
  json::Value answer;

  std::string text(std::string_view field) const { return json::find_string(answer, {field}).value_or(""); }
};

class EnrolmentTest : public testing::Test {
 protected:
  void SetUp() override {
    auto registry = Registry::standard();
    ASSERT_TRUE(registry.ok()) << registry.error().to_string();
    auto service = Service::open(runtime_, std::make_shared<const Registry>(*std::move(registry)), {});
    ASSERT_TRUE(service.ok()) << service.error().to_string();
    service_ = *std::move(service);
    ApiServerOptions options;
    options.port = 0;
    options.state_directory = dir_.path();
    auto server = ApiServer::start(*service_, std::move(options));
    ASSERT_TRUE(server.ok()) << server.error().to_string();
    server_ = *std::move(server);
    ASSERT_TRUE(server_->write_kubeconfig(dir_ / "kubeconfig").ok());
  }

  static net::HttpClient client(net::ClientOptions options) {
    options.proxy = net::ProxySettings{};
    auto made = net::HttpClient::create(std::move(options));
    STRAKE_INVARIANT(made.ok());
    return *std::move(made);
  }
  /// As the administrator whose kubeconfig is on disk: it follows a rotation.
  net::HttpClient admin() {
    const auto config = kube::parse_kubeconfig(*read_file(dir_ / "kubeconfig", 1 << 20), dir_ / "kubeconfig");
    const auto access = kube::resolve_access(*config);
    net::ClientOptions options;
    options.ca_pem = access->ca_pem;
    options.client_certificate_pem = access->client_cert_pem;
    options.client_key_pem = access->client_key_pem;
    return client(options);
  }
  net::HttpClient by(const Holder& holder) {
    net::ClientOptions options;
    options.ca_pem = holder.text("certificateAuthority");
    options.client_certificate_pem = holder.text("certificate");
    options.client_key_pem = holder.key.to_pem();
    return client(options);
  }
  net::HttpClient with_token(const std::string& token) {
    net::ClientOptions options;
    options.ca_pem = server_->admin_access().ca_pem;
    options.bearer_token = token;
    return client(options);
  }

  net::Response send(const net::HttpClient& by, const std::string& method, const std::string& path,
                     const std::string& body = "") {
    net::Headers headers;
    if (!body.empty()) headers.add("Content-Type", "application/json");
    const auto response = by.send({method, server_->url() + path, headers, body});
    EXPECT_TRUE(response.ok()) << response.error().to_string();
    return response.ok() ? *response : net::Response{0, {}, ""};
  }
  net::Response post(const net::HttpClient& by, const std::string& what, const json::Object& body) {
    return send(by, "POST", "/strake/v1/access/" + what, json::write(body));
  }
  static json::Value value(const net::Response& response) {
    auto parsed = json::parse(response.body);
    EXPECT_TRUE(parsed.ok()) << response.body;
    return parsed.ok() ? *std::move(parsed) : json::Value();
  }
  static std::string message(const net::Response& response) {
    return json::find_string(value(response), {"message"}).value_or("");
  }

  static std::string request_for(const net::PrivateKey& key) {
    return net::CertificateRequest::make(key, "system:admin", {"system:masters"})->to_pem();
  }
  std::string join_token(const std::string& node) {
    const auto response = post(admin(), "tokens", {{"role", "agent"}, {"node", node}, {"join", true}});
    EXPECT_EQ(response.status, 201) << response.body;
    return json::find_string(value(response), {"token"}).value_or("");
  }
  Holder joined(const std::string& node) {
    const net::PrivateKey key = *net::PrivateKey::generate();
    const auto response = post(with_token(join_token(node)), "join", {{"request", request_for(key)}});
    EXPECT_EQ(response.status, 201) << response.body;
    return {key, value(response)};
  }
  Holder renewed(const Holder& old) {
    const net::PrivateKey key = *net::PrivateKey::generate();
    const auto response = post(by(old), "renewals", {{"request", request_for(key)}});
    EXPECT_EQ(response.status, 201) << response.body;
    return {key, value(response)};
  }
  std::string whoami(const net::HttpClient& by) {
    const auto response = send(by, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                               R"({"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"})");
    if (response.status != 201) return std::to_string(response.status);
    return json::find_string(value(response), {"status", "userInfo", "username"}).value_or("");
  }
  json::Value authority() { return value(send(admin(), "GET", "/strake/v1/access/authority")); }
  std::size_t missing() { return authority().at("missing").as_array().size(); }
  net::Response rotate(const std::string& from, bool leave_behind = false) {
    return post(admin(), "authority", {{"from", from}, {"leaveBehind", leave_behind}});
  }
  /// id -> state
  std::map<std::string, std::string> states() {
    std::map<std::string, std::string> states;
    const json::Value answer = value(send(admin(), "GET", "/strake/v1/access/credentials"));
    for (const json::Value& item : answer.at("credentials").as_array()) {
      states[*json::find_string(item, {"id"})] = *json::find_string(item, {"state"});
    }
    return states;
  }

  runtime::ThreadRuntime runtime_;
  test::TempDir dir_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<ApiServer> server_;
};

TEST_F(EnrolmentTest, AnAgentJoinsWithATokenAndIsItsNodeAndNobodyElse) {
  const Holder agent = joined("w1");
  EXPECT_EQ(agent.text("node"), "w1");
  EXPECT_EQ(whoami(by(agent)), "strake:agent:w1") << "the names in the request are a wish";
  const auto node = value(send(admin(), "GET", "/api/v1/nodes/w1"));
  EXPECT_TRUE(json::find(node, {"metadata", "labels", "node-role.kubernetes.io/worker"}) != nullptr);
  EXPECT_EQ(send(by(agent), "GET", "/api/v1/nodes/w1").status, 200);
  EXPECT_EQ(send(by(agent), "GET", "/api/v1/secrets").status, 403);
  EXPECT_EQ(send(by(agent), "GET", "/strake/v1/access/credentials").status, 403);
  EXPECT_EQ(post(by(agent), "tokens", {{"role", "administrator"}, {"user", "mallory"}}).status, 403);
  EXPECT_EQ(post(by(agent), "authority", {{"from", "settled"}}).status, 403);
}

/// However often a join is repeated, revoking leaves none of its certificates.
TEST_F(EnrolmentTest, EveryCertificateOfARepeatedJoinIsRevoked) {
  const std::string token = join_token("w1");
  const net::PrivateKey key = *net::PrivateKey::generate();
  const auto join = [&] { return post(with_token(token), "join", {{"request", request_for(key)}}); };
  std::vector<Holder> holders;
  for (int i = 0; i < 2; ++i) holders.push_back({key, value(join())});
  const auto too_fast = join();
  EXPECT_EQ(too_fast.status, 429) << too_fast.body;
  EXPECT_TRUE(too_fast.headers.has("Retry-After"));
  // A day passes.
  const std::filesystem::path file = dir_ / "pki" / "issued.json";
  json::Value record = *json::parse(*read_file(file, 1 << 20));
  json::Object& credential = record.at("credentials").as_array().at(0).as_object();
  credential["issued"] = format_rfc3339(runtime_.wall_now() - 24h);
  ASSERT_TRUE(write_file_atomic(file, json::write_pretty(record), 0600).ok());
  holders.push_back({key, value(join())});
  EXPECT_EQ(whoami(by(holders[0])), "401") << "no record names it any more";
  EXPECT_EQ(whoami(by(holders[1])), "strake:agent:w1");
  EXPECT_EQ(whoami(by(holders[2])), "strake:agent:w1");
  EXPECT_EQ(post(admin(), "revocations", {{"node", "w1"}, {"reason", "stolen"}}).status, 201);
  for (const Holder& holder : holders) EXPECT_EQ(whoami(by(holder)), "401");
}

TEST_F(EnrolmentTest, AJoinTokenIsGoodForOneKeyAndNothingElse) {
  const std::string token = join_token("w1");
  EXPECT_EQ(whoami(with_token(token)), "401");
  const net::PrivateKey key = *net::PrivateKey::generate();
  ASSERT_EQ(post(with_token(token), "join", {{"request", request_for(key)}}).status, 201);
  const auto again = post(with_token(token), "join", {{"request", request_for(key)}});
  EXPECT_EQ(again.status, 201) << "the answer may have been lost: " << again.body;
  const auto other = post(with_token(token), "join", {{"request", request_for(*net::PrivateKey::generate())}});
  EXPECT_EQ(other.status, 401);
  EXPECT_NE(message(other).find("used already"), std::string::npos) << other.body;
  for (const std::string& wrong : {std::string("strake-0000"), token + "0"}) {
    const auto refused = post(with_token(wrong), "join", {{"request", request_for(key)}});
    EXPECT_EQ(refused.status, 401);
    EXPECT_NE(message(refused).find("unknown or has expired"), std::string::npos) << refused.body;
  }
  const auto none = post(with_token(""), "join", {{"request", "x"}});
  EXPECT_EQ(none.status, 401);
  EXPECT_NE(message(none).find("strake access issue join-token"), std::string::npos) << none.body;
}

TEST_F(EnrolmentTest, AnApiTokenDoesNotJoin) {
  const auto token = value(post(admin(), "tokens", {{"role", "agent"}, {"node", "w1"}}));
  const std::string secret = *json::find_string(token, {"token"});
  EXPECT_EQ(whoami(with_token(secret)), "strake:agent:w1");
  EXPECT_EQ(post(with_token(secret), "join", {{"request", request_for(*net::PrivateKey::generate())}}).status, 401);
  EXPECT_EQ(send(admin(), "GET", "/api/v1/nodes/w1").status, 404) << "only joining makes a Node";
}

TEST_F(EnrolmentTest, ANameThatExistsIsRefusedBeforeAndAfterTheTokenIsMade) {
  const std::string token = join_token("w1");
  const std::string node = R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"w1"}})";
  ASSERT_EQ(send(admin(), "POST", "/api/v1/nodes", node).status, 201);
  const net::PrivateKey key = *net::PrivateKey::generate();
  const auto refused = post(with_token(token), "join", {{"request", request_for(key)}});
  EXPECT_EQ(refused.status, 409);
  EXPECT_NE(message(refused).find("node \"w1\" exists already"), std::string::npos) << refused.body;
  EXPECT_EQ(post(admin(), "tokens", {{"role", "agent"}, {"node", "w1"}, {"join", true}}).status, 409);
  ASSERT_EQ(send(admin(), "DELETE", "/api/v1/nodes/w1").status, 200);
  EXPECT_EQ(post(with_token(token), "join", {{"request", request_for(key)}}).status, 201) << "the token is not used up";
}

TEST_F(EnrolmentTest, HostileRequestsAreRefused) {
  const std::string token = join_token("w1");
  const auto join = [&](const json::Object& body) { return post(with_token(token), "join", body); };
  EXPECT_EQ(join({{"request", std::string(1u << 20, 'x')}}).status, 413);
  EXPECT_EQ(join({{"request", std::string(100u << 10, 'x')}}).status, 413);
  EXPECT_EQ(join({{"request", "no request"}}).status, 400);
  EXPECT_EQ(join({{"request", 7}}).status, 400);
  EXPECT_EQ(join({}).status, 400);
  EXPECT_EQ(join({{"request", "x"}, {"node", "w2"}}).status, 400) << "the token alone says which node";
  for (const char* name : {"..", "../w1", "W1", "w\n1", "w1/x"}) {
    EXPECT_EQ(post(admin(), "tokens", {{"role", "agent"}, {"node", name}, {"join", true}}).status, 400) << name;
  }
  EXPECT_EQ(send(admin(), "GET", "/api/v1/nodes/w1").status, 404);
  EXPECT_EQ(send(admin(), "GET", "/strake/v1/access").status, 404);
  EXPECT_EQ(send(admin(), "GET", "/strake/v1/access/join/x").status, 404);
  EXPECT_EQ(send(admin(), "DELETE", "/strake/v1/access/credentials").status, 404);
}

TEST_F(EnrolmentTest, WhatIsRevokedIsRefusedAndCannotComeBack) {
  const std::string token = join_token("w1");
  const net::PrivateKey key = *net::PrivateKey::generate();
  const json::Object request{{"request", request_for(key)}};
  const Holder agent{key, value(post(with_token(token), "join", request))};
  ASSERT_EQ(whoami(by(agent)), "strake:agent:w1");
  const auto revoked = post(admin(), "revocations", {{"id", agent.text("id")}, {"reason", "lost"}});
  ASSERT_EQ(revoked.status, 201) << revoked.body;
  EXPECT_EQ(whoami(by(agent)), "401");
  EXPECT_EQ(post(by(agent), "renewals", request).status, 401);
  EXPECT_EQ(post(with_token(token), "join", request).status, 401) << "not by its old token either";
  EXPECT_EQ(states()[agent.text("id")], "revoked");
  EXPECT_EQ(post(admin(), "revocations", {{"id", "nobody"}}).status, 404);
}

TEST_F(EnrolmentTest, RevokingANodeOrAUserTakesAllItsCredentials) {
  const Holder agent = joined("w1"), other = joined("w2");
  const std::string token =
      *json::find_string(value(post(admin(), "tokens", {{"role", "agent"}, {"node", "w1"}})), {"token"});
  const auto revoked = post(admin(), "revocations", {{"node", "w1"}});
  ASSERT_EQ(revoked.status, 201) << revoked.body;
  EXPECT_EQ(value(revoked).at("revoked").as_array().size(), 3u) << "certificate, join token, token";
  EXPECT_EQ(whoami(by(agent)), "401");
  EXPECT_EQ(whoami(with_token(token)), "401");
  EXPECT_EQ(whoami(by(other)), "strake:agent:w2");
}

TEST_F(EnrolmentTest, ACertificateIsSignedForWhomTheOrderNames) {
  const net::PrivateKey key = *net::PrivateKey::generate();
  const auto response =
      post(admin(), "certificates",
           {{"role", "viewer"}, {"user", "ann"}, {"lifetimeSeconds", 7200}, {"request", request_for(key)}});
  ASSERT_EQ(response.status, 201) << response.body;
  const Holder ann{key, value(response)};
  EXPECT_EQ(whoami(by(ann)), "ann");
  EXPECT_EQ(send(by(ann), "POST", "/api/v1/namespaces/default/configmaps", "{}").status, 403);
  EXPECT_EQ(states()[ann.text("id")], "active");
}

TEST_F(EnrolmentTest, ACertificateIsNotRenewedBeforeItIsTimeNorByAnotherProof) {
  const Holder agent = joined("w1");
  const json::Object request{{"request", request_for(*net::PrivateKey::generate())}};
  EXPECT_EQ(post(by(agent), "renewals", request).status, 429);
  const auto token = value(post(admin(), "tokens", {{"role", "viewer"}, {"user", "ann"}}));
  EXPECT_EQ(post(with_token(*json::find_string(token, {"token"})), "renewals", request).status, 403);
  EXPECT_EQ(post(admin(), "renewals", request).status, 404) << "the server renews its administrator's itself";
}

TEST_F(EnrolmentTest, TheAuthorityIsRotatedWhileEverybodyGoesOn) {
  const Holder first = joined("w1");
  EXPECT_EQ(json::find_string(authority(), {"rotation"}), "settled");
  ASSERT_EQ(rotate("settled").status, 201);
  EXPECT_EQ(rotate("settled").status, 409) << "two askers take one step";
  EXPECT_EQ(missing(), 1u) << "the agent does not know the new one";
  EXPECT_EQ(rotate("announced").status, 409);
  EXPECT_EQ(whoami(by(first)), "strake:agent:w1");

  const Holder second = renewed(first);
  EXPECT_EQ(missing(), 0u);
  ASSERT_EQ(rotate("announced").status, 201);
  EXPECT_EQ(whoami(by(second)), "strake:agent:w1") << "it trusts the server's new certificate";
  EXPECT_EQ(missing(), 1u) << "its certificate is of the old one";
  EXPECT_EQ(rotate("signing").status, 409);

  const Holder third = renewed(second);
  EXPECT_EQ(missing(), 0u);
  Holder oldest = first;
  oldest.answer.as_object()["certificateAuthority"] = third.text("certificateAuthority");
  EXPECT_EQ(whoami(by(oldest)), "401") << "two renewals later";
  EXPECT_EQ(whoami(by(second)), "strake:agent:w1") << "the answer may have been lost";
  ASSERT_EQ(rotate("signing").status, 201);
  EXPECT_EQ(json::find_string(authority(), {"rotation"}), "settled");
  EXPECT_EQ(authority().at("trusted").as_array().size(), 1u);
  EXPECT_EQ(whoami(by(third)), "strake:agent:w1");
  EXPECT_EQ(whoami(by(second)), "401") << "of the retired authority";
  EXPECT_EQ(whoami(admin()), "strake:admin") << "its kubeconfig was written again";
  EXPECT_EQ(states()[third.text("id")], "active");
}

TEST_F(EnrolmentTest, WhoIsLeftBehindIsNamedAndLostOnlyWhenToldSo) {
  const Holder agent = joined("w1");
  (void)post(admin(), "tokens", {{"role", "viewer"}, {"user", "ann"}});
  ASSERT_EQ(rotate("settled").status, 201);
  (void)post(admin(), "tokens", {{"role", "viewer"}, {"user", "bob"}});  // with both authorities
  const auto named = authority();
  ASSERT_EQ(named.at("missing").as_array().size(), 2u) << json::write(named);
  EXPECT_EQ(json::find_string(named.at("missing").as_array()[0], {"node"}), "w1");
  EXPECT_EQ(json::find_string(named.at("missing").as_array()[1], {"user"}), "ann");
  EXPECT_EQ(rotate("announced").status, 409);
  ASSERT_EQ(rotate("announced", true).status, 201);
  ASSERT_EQ(rotate("signing", true).status, 201);
  const auto lost = by(agent).send({"GET", server_->url() + "/api/v1/nodes/w1", {}, {}});
  ASSERT_FALSE(lost.ok()) << "it does not trust the server any more";
  EXPECT_EQ(lost.error().code(), Code::kDenied);
}

TEST_F(EnrolmentTest, WhoKnowsTheAuthorityByItsFingerprintIsServed) {
  const auto token = value(post(admin(), "tokens", {{"role", "agent"}, {"node", "w1"}, {"join", true}}));
  net::ClientOptions options;
  options.ca_sha256 = *json::find_string(token, {"certificateAuthoritySha256"});
  options.bearer_token = *json::find_string(token, {"token"});
  const json::Object request{{"request", request_for(*net::PrivateKey::generate())}};
  EXPECT_EQ(post(client(options), "join", request).status, 201);
}

}  // namespace strake::apistore::rest::enrolment_test
