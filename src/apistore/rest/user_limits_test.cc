// What one user may take from the running server, how soon a revoked one is out, and what is written down about both.
#include <gtest/gtest.h>

#include "apistore/rest/api_server.h"
#include "apistore/testing/test_service.h"
#include "base/fd.h"
#include "base/text.h"
#include "net/http_client.h"
#include "net/testing/raw_tls_client.h"
#include "net/x509.h"
#include "pki/revocations.h"
#include "support/temp_dir.h"

namespace strake::apistore::rest::user_limits_test {

using namespace std::chrono_literals;
using net::testing::RawTlsClient;

struct LimitsStage {
  explicit LimitsStage(UserLimits limits = {}) {
    ApiServerOptions options;
    options.port = 0;
    options.state_directory = dir.path();
    options.watches.tick = 5ms;
    options.credential_check = 5ms;
    options.user_limits = limits;
    options.audit_log = dir / "audit.log";
    auto started = ApiServer::start(*service, std::move(options));
    EXPECT_TRUE(started.ok()) << started.error().to_string();
    server = *std::move(started);
    ann = *server->issue_client("ann", {"strake:viewers"}, 1h);
  }

  net::Response send(const kube::ClusterAccess& by, net::Request request, const std::string& token = "") const {
    net::ClientOptions options;
    options.ca_pem = by.ca_pem;
    options.client_certificate_pem = token.empty() ? by.client_cert_pem : "";
    options.client_key_pem = token.empty() ? by.client_key_pem : "";
    options.bearer_token = token;
    options.proxy = net::ProxySettings{};
    const auto client = net::HttpClient::create(std::move(options));
    request.url = server->url() + request.url;
    const auto response = client->send(request);
    EXPECT_TRUE(response.ok()) << response.error().to_string();
    return response.ok() ? *response : net::Response{};
  }
  RawTlsClient connect(const kube::ClusterAccess& by) const {
    auto client = RawTlsClient::connect(server->port(),
                                        {.ca_pem = by.ca_pem, .identity = {by.client_cert_pem, by.client_key_pem}});
    EXPECT_TRUE(client.ok()) << client.error().to_string();
    return *std::move(client);
  }
  /// Returns what was answered up to the end of the head.
  static std::string ask(RawTlsClient& client, std::string_view path, std::string_view more = "") {
    EXPECT_TRUE(client.write(fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", path, more)).ok());
    return client.read_until("\r\n\r\n").value_or("");
  }
  RawTlsClient watch(const kube::ClusterAccess& by) const {
    RawTlsClient client = connect(by);
    EXPECT_TRUE(ask(client, kWatch).starts_with("HTTP/1.1 200"));
    return client;
  }
  std::string audit() {
    server->stop();
    return read_file(dir / "audit.log", 1 << 20).value_or("");
  }

  static constexpr std::string_view kWatch = "/api/v1/namespaces?watch=1&resourceVersion=0";

  runtime::ThreadRuntime runtime;
  test::TempDir dir;
  std::unique_ptr<Service> service = testkit::open_service(runtime);
  std::unique_ptr<ApiServer> server;
  kube::ClusterAccess ann;
};

TEST(ApiUserLimits, RequestsASecond) {
  LimitsStage stage({.requests = {.per_second = 1, .burst = 3}});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(stage.send(stage.ann, {"GET", "/version", {}, {}}).status, 200);
  RawTlsClient raw = stage.connect(stage.ann);
  const std::string refused = LimitsStage::ask(raw, "/version");
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 429 ")) << refused;
  EXPECT_NE(refused.find("Retry-After: 1\r\n"), std::string::npos) << "our client and kubectl wait for it: " << refused;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(stage.send(stage.server->admin_access(), {"GET", "/version", {}, {}}).status, 200);
  }
  RawTlsClient health = stage.connect(stage.ann);
  EXPECT_TRUE(LimitsStage::ask(health, "/readyz").starts_with("HTTP/1.1 200")) << "is not counted";
}

TEST(ApiUserLimits, WatchesAreGivenBackWhenTheClientLeaves) {
  LimitsStage stage({.watches = 2});
  const RawTlsClient first = stage.watch(stage.ann);
  {
    const RawTlsClient second = stage.watch(stage.ann);
    RawTlsClient third = stage.connect(stage.ann);
    EXPECT_TRUE(LimitsStage::ask(third, LimitsStage::kWatch).starts_with("HTTP/1.1 429 "));
    const RawTlsClient admins = stage.watch(stage.server->admin_access());
  }
  std::string answer;
  do {
    RawTlsClient again = stage.connect(stage.ann);
    answer = LimitsStage::ask(again, LimitsStage::kWatch);
  } while (answer.starts_with("HTTP/1.1 429 "));  // until the server has noticed that the second is gone
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200")) << answer;
}

TEST(ApiUserLimits, Connections) {
  LimitsStage stage({.connections = 3});
  const RawTlsClient first = stage.watch(stage.ann);
  const RawTlsClient second = stage.watch(stage.ann);
  RawTlsClient idle = stage.connect(stage.ann);
  EXPECT_TRUE(LimitsStage::ask(idle, "/version").starts_with("HTTP/1.1 200"));
  const RawTlsClient third = stage.watch(stage.ann);
  (void)idle.read_to_end();  // it made room
  RawTlsClient fourth = stage.connect(stage.ann);
  EXPECT_TRUE(LimitsStage::ask(fourth, "/version").starts_with("HTTP/1.1 429 "));
  (void)fourth.read_to_end();  // and is not kept open
  EXPECT_EQ(stage.send(stage.server->admin_access(), {"GET", "/version", {}, {}}).status, 200);
}

TEST(ApiUserLimits, ARevokedCertificateIsOutAtOnce) {
  LimitsStage stage;
  RawTlsClient watch = stage.watch(stage.ann);
  RawTlsClient idle = stage.connect(stage.ann);
  EXPECT_TRUE(LimitsStage::ask(idle, "/version").starts_with("HTTP/1.1 200"));
  RawTlsClient admins = stage.watch(stage.server->admin_access());
  const auto chain = net::parse_bundle(stage.ann.client_cert_pem);
  pki::Revocations list(stage.dir / "pki/revoked.json");
  ASSERT_TRUE(
      list.revoke({chain->front().info().serial, stage.runtime.wall_now() + 1h, "lost"}, stage.runtime.wall_now())
          .ok());
  (void)watch.read_to_end();
  (void)idle.read_to_end();
  EXPECT_EQ(stage.send(stage.ann, {"GET", "/version", {}, {}}).status, 401);
  const auto made = stage.send(stage.server->admin_access(),
                               {"POST",
                                "/api/v1/namespaces",
                                {{"Content-Type", "application/json"}},
                                R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"still-here"}})"});
  EXPECT_EQ(made.status, 201);
  EXPECT_TRUE(admins.read_until("still-here").ok()) << "others go on";
}

TEST(ApiUserLimits, ARemovedTokenIsOutAtOnce) {
  LimitsStage stage;
  const auto token =
      stage.server->tokens().issue(stage.runtime.random(), {"bob", {"strake:viewers"}, std::nullopt, {}}, {});
  ASSERT_TRUE(token.ok());
  kube::ClusterAccess nobody;
  nobody.ca_pem = stage.ann.ca_pem;
  RawTlsClient watch = stage.connect(nobody);
  const std::string bearer = fmt::format("Authorization: Bearer {}\r\n", token->secret);
  EXPECT_TRUE(LimitsStage::ask(watch, LimitsStage::kWatch, bearer).starts_with("HTTP/1.1 200"));
  pki::TokenFile elsewhere(stage.dir / "tokens.json");  // another process
  ASSERT_TRUE(elsewhere.revoke(token->id).ok());
  (void)watch.read_to_end();
  EXPECT_EQ(stage.send(stage.ann, {"GET", "/version", {}, {}}, token->secret).status, 401);
}

TEST(ApiAudit, TellsWhoDidWhatAndNoSecret) {
  LimitsStage stage;
  const kube::ClusterAccess admin = stage.server->admin_access();
  const net::Headers json{{"Content-Type", "application/json"}};
  const std::string secrets = "/api/v1/namespaces/default/secrets";
  EXPECT_EQ(
      stage
          .send(admin, {"POST", secrets + "?fieldManager=hidden-in-query", json,
                        R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"k":"hidden"}})"})
          .status,
      201);
  EXPECT_EQ(stage.send(stage.ann, {"GET", secrets + "/s", {}, {}}).status, 403);
  EXPECT_EQ(stage.send(admin, {"GET", secrets, {{"Impersonate-User", "bob"}}, {}}).status, 403);
  EXPECT_EQ(stage.send(stage.ann, {"POST", secrets, json, "{}"}, "hidden-token").status, 401);
  EXPECT_EQ(stage.send(admin, {"GET", "/readyz", {}, {}}).status, 200);
  EXPECT_EQ(stage.send(admin, {"GET", "/version", {}, {}}).status, 200);
  const std::string text = stage.audit();
  EXPECT_EQ(text.find("hidden"), std::string::npos) << text;
  std::vector<std::string> told;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    const json::Value value = testkit::parse(line);
    const auto field = [&](std::string_view name) { return json::find_string(value, {name}).value_or("-"); };
    told.push_back(fmt::format("{} as {} {} {}{} {}/{} {}", field("user"), field("actingAs"), field("verb"),
                               field("resource"), field("path"), field("namespace"), field("name"),
                               json::find_int(value, {"code"}).value_or(0)));
    EXPECT_TRUE(field("source").starts_with("127.0.0.1:")) << line;
  }
  EXPECT_EQ(told, (std::vector<std::string>{
                      "strake:admin as - create secrets- default/s 201",
                      "ann as - get secrets- default/s 403",
                      "strake:admin as bob list secrets- default/- 403",
                      " as - post -/api/v1/namespaces/default/secrets -/- 401",
                      "strake:admin as - get -/version -/- 200",
                  }));
}

}  // namespace strake::apistore::rest::user_limits_test
