// The server over real TLS: statuses, empty bodies, swaps under load, certificates replaced.
#include "configserver/config_server.h"

#include <atomic>

#include <gtest/gtest.h>

#include "base/runtime.h"
#include "configserver/testing/objects.h"
#include "net/http_client.h"
#include "net/testing/raw_tls_client.h"
#include "net/testing/test_authority.h"

namespace strake::configserver::config_server_test {

using namespace std::chrono_literals;

std::shared_ptr<const PoolAnswers> answers_of(const std::string& name, std::string_view contents) {
  AssemblyInput input;
  input.config = std::make_shared<const kube::Object>(objects::rendered(
      name,
      fmt::format(
          R"({{"ignition":{{"version":"3.2.0"}},"storage":{{"files":[{{"path":"/etc/a","contents":{{"source":"data:,{}"}}}}]}}}})",
          contents)));
  return answer_in_every_version(input);
}

struct Stage {
  explicit Stage(ConfigServerOptions options = {}) {
    options.port = 0;
    options.on_request = [this](const ConfigRequest& request) {
      const std::scoped_lock lock(mutex);
      requests.push_back(request);
    };
    server.emplace(shelf, options);
    identity = authority.server();
    EXPECT_TRUE(server->set_identity(identity.certificate_pem, identity.key_pem).ok());
  }
  net::Response ask(const std::string& method, const std::string& path, const std::string& accept = "") {
    net::ClientOptions options;
    options.ca_pem = authority.pem();
    options.proxy = net::ProxySettings{};
    const auto client = net::HttpClient::create(options);
    net::Request request{method, fmt::format("https://127.0.0.1:{}{}", server->port(), path), {}, {}};
    if (!accept.empty()) request.headers.add("Accept", accept);
    auto response = client->send(request);
    EXPECT_TRUE(response.ok()) << response.error().to_string();
    return response.ok() ? *std::move(response) : net::Response{0, {}, {}};
  }

  net::testing::TestAuthority authority;
  net::testing::TestIdentity identity;
  AnswerShelf shelf;
  std::mutex mutex;
  std::vector<ConfigRequest> requests;
  std::optional<ConfigServer> server;
};

constexpr const char* k3_2 = "application/vnd.coreos.ignition+json;version=3.2.0, */*;q=0.1";

TEST(ConfigServer, EveryPathAndMethod) {
  Stage stage;
  stage.shelf.put_pool("worker", answers_of("rendered-worker-1", "one"));
  const std::size_t length = stage.shelf.current()->find("worker", {3, 2}).body->size();
  struct Case {
    const char* method;
    const char* path;
    const char* accept;
    int status;
    bool has_body;
  };
  const Case cases[] = {
      {"GET", "/config/worker", k3_2, 200, true},
      {"GET", "/config/worker", "", 200, true},
      {"GET", "/config/some/where/worker", k3_2, 200, true},
      {"GET", "/config/worker?fresh=1", k3_2, 200, true},
      {"POST", "/config/worker", k3_2, 405, false},
      {"DELETE", "/config/worker", k3_2, 405, false},
      {"GET", "/config/worker", "application/vnd.coreos.ignition+json;version=4.0.0", 400, false},
      {"GET", "/config/worker", "application/vnd.coreos.ignition+json;version=3.0.0", 500, false},
      {"GET", "/config/nobody", k3_2, 500, false},
      {"GET", "/config/", k3_2, 500, false},
      {"GET", "/config", k3_2, 404, false},
      {"GET", "/configs/worker", k3_2, 404, false},
      {"GET", "/", "", 404, false},
      {"POST", "/", "", 405, false},
      {"GET", "/healthz", "", 200, false},
      {"HEAD", "/healthz", "", 200, false},
      {"POST", "/healthz", "", 405, false},
      {"GET", "/config/..%2f..%2fetc", k3_2, 500, false},
  };
  for (const Case& c : cases) {
    const net::Response response = stage.ask(c.method, c.path, c.accept);
    EXPECT_EQ(response.status, c.status) << c.method << " " << c.path << " " << c.accept;
    EXPECT_EQ(!response.body.empty(), c.has_body) << c.method << " " << c.path;
    if (c.has_body) {
      EXPECT_EQ(response.headers.get("Content-Type"), "application/json");
    } else {
      EXPECT_EQ(response.headers.get("Content-Length"), "0") << c.method << " " << c.path;
    }
  }
  const net::Response head = stage.ask("HEAD", "/config/worker", k3_2);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.get("Content-Length"), std::to_string(length));
}

TEST(ConfigServer, BeforeThereIsAnythingItAnswersAndSaysWhy) {
  Stage stage;
  EXPECT_EQ(stage.ask("GET", "/config/worker", k3_2).status, 500);
  EXPECT_EQ(stage.ask("GET", "/healthz").status, 200);
  stage.shelf.put_pool("worker", answer_with_problem(Outcome::kNotRendered, "why"));
  EXPECT_EQ(stage.ask("GET", "/config/worker", k3_2).status, 500);
  ASSERT_EQ(stage.requests.size(), 2U);
  EXPECT_EQ(stage.requests[0].outcome, Outcome::kNotReady);
  EXPECT_FALSE(stage.requests[0].known_pool);
  EXPECT_EQ(stage.requests[1].outcome, Outcome::kNotRendered);
  EXPECT_EQ(stage.requests[1].problem, "why");
  EXPECT_TRUE(stage.requests[1].known_pool);
}

TEST(ConfigServer, GarbageGetsAnEmptyAnswerAndDisturbsNobody) {
  Stage stage;
  stage.shelf.put_pool("worker", answers_of("rendered-worker-1", "one"));
  for (const std::string& bytes :
       {std::string("nonsense\r\n\r\n"),
        "GET /config/worker HTTP/1.1\r\nHost: a\r\nX: " + std::string(40'000, 'x') + "\r\n\r\n",
        std::string("GET /config/\x01 HTTP/1.1\r\nHost: a\r\n\r\n")}) {
    auto client =
        net::testing::RawTlsClient::connect(stage.server->port(), {.ca_pem = stage.authority.pem(), .identity = {}});
    ASSERT_TRUE(client.ok()) << client.error().to_string();
    (void)client->write(bytes);
    const std::string answer = client->read_to_end();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 4")) << answer;
    EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
  }
  EXPECT_EQ(stage.ask("GET", "/config/worker", k3_2).status, 200);
}

TEST(ConfigServer, WhoMayNotAskLearnsNothing) {
  runtime::ThreadRuntime runtime;
  Gate gate(runtime, {.refused = {.per_second = 1, .burst = 6}});
  ConfigServerOptions options;
  options.gate = &gate;
  Stage stage(options);
  stage.shelf.put_pool("worker", answers_of("rendered-worker-1", "one"));
  const auto ask = [&](const std::string& path, const std::string& token, const std::string& method = "GET") {
    net::ClientOptions client_options;
    client_options.ca_pem = stage.authority.pem();
    client_options.proxy = net::ProxySettings{};
    net::Request request{method, fmt::format("https://127.0.0.1:{}{}", stage.server->port(), path), {}, {}};
    request.headers.add("Accept", k3_2);
    if (!token.empty()) request.headers.add("Authorization", "Bearer " + token);
    auto response = net::HttpClient::create(client_options)->send(request);
    EXPECT_TRUE(response.ok()) << response.error().to_string();
    return response.ok() ? *std::move(response) : net::Response{0, {}, {}};
  };
  EXPECT_EQ(ask("/config/worker", "").status, 500) << "nobody said yet who may ask";
  const auto now = std::chrono::floor<std::chrono::seconds>(runtime.wall_now());
  stub::TokenRecord good{"good", "worker", stub::token_sha256("a"), now, now + 1h};
  stub::TokenRecord other{"other", "infra", stub::token_sha256("b"), now, now + 1h};
  gate.set_book(std::make_shared<const stub::AccessBook>(stub::AccessMode::kRequire, std::vector{good, other}, ""));
  for (const char* path : {"/config/worker", "/config/nobody", "/config/a%2fb"}) {
    const net::Response refused = ask(path, "");
    EXPECT_EQ(refused.status, 401) << path << ": whether there is such a pool is not for everybody";
    EXPECT_EQ(refused.headers.get("WWW-Authenticate"), "Bearer");
    EXPECT_EQ(refused.headers.get("Content-Length"), "0");
  }
  EXPECT_EQ(ask("/config/worker", "nonsense").status, 401);
  EXPECT_EQ(ask("/config/worker", "b").status, 403);
  EXPECT_EQ(ask("/config/worker", "b", "HEAD").status, 403);
  const net::Response often = ask("/config/worker", "nonsense");
  EXPECT_EQ(often.status, 429);
  EXPECT_EQ(often.headers.get("Retry-After"), "1");
  EXPECT_TRUE(often.body.empty());
  EXPECT_EQ(ask("/config/worker", "a").status, 200) << "behind the same address";
  EXPECT_EQ(ask("/config/worker", "a", "HEAD").status, 200);
  EXPECT_EQ(ask("/healthz", "").status, 200);
  EXPECT_EQ(stage.requests.back().credential, "good");
  EXPECT_EQ(stage.requests.back().standing, stub::Standing::kGood);
}

TEST(ConfigServer, AClientCertificateIsAskedForAndNotDemanded) {
  runtime::ThreadRuntime runtime;
  Gate gate(runtime);
  ConfigServerOptions options;
  options.gate = &gate;
  Stage stage(options);
  stage.shelf.put_pool("worker", answers_of("rendered-worker-1", "one"));
  net::testing::TestAuthority clients("clients"), strangers("strangers");
  gate.set_book(std::make_shared<const stub::AccessBook>(stub::AccessMode::kRequire, std::vector<stub::TokenRecord>{},
                                                         clients.pem()));
  ASSERT_TRUE(stage.server->set_client_ca(clients.pem()).ok());
  EXPECT_FALSE(stage.server->set_client_ca("nonsense").ok()) << "what was in use stays in use";
  const auto ask = [&](net::testing::TestAuthority* by, const std::string& organization) {
    net::testing::RawTlsOptions client{.ca_pem = stage.authority.pem(), .identity = {}};
    if (by != nullptr) {
      net::LeafRequest leaf;
      leaf.common_name = "rack-7";
      leaf.organizations = {organization};
      leaf.client_auth = true;
      client.identity = by->issue(leaf);
    }
    auto connection = net::testing::RawTlsClient::connect(stage.server->port(), client);
    if (!connection.ok()) return connection.error().to_string();
    (void)connection->write("GET /config/worker HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    return connection->read_to_end().substr(0, 12);
  };
  EXPECT_EQ(ask(&clients, "strake:pool:worker"), "HTTP/1.1 200");
  EXPECT_EQ(ask(&clients, "strake:pool:infra"), "HTTP/1.1 403");
  EXPECT_EQ(ask(&strangers, "strake:pool:worker"), "HTTP/1.1 401");
  EXPECT_EQ(ask(nullptr, ""), "HTTP/1.1 401");
  EXPECT_EQ(stage.requests[2].outcome, Outcome::kBadCertificate);
  EXPECT_EQ(stage.requests[3].outcome, Outcome::kNoToken);
  ASSERT_TRUE(stage.server->set_client_ca("").ok());
  EXPECT_EQ(ask(&clients, "strake:pool:worker"), "HTTP/1.1 401") << "nobody's certificates count any more";
}

TEST(ConfigServer, ManyClientsSeeTheOldBodyOrTheNewOne) {
  Stage stage;
  const std::string long_one(200'000, '1'), long_two(200'000, '2');
  const auto one = answers_of("rendered-worker-1", long_one), two = answers_of("rendered-worker-2", long_two);
  stage.shelf.put_pool("worker", one);
  runtime::ThreadRuntime runtime;
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0, right = 0;
  {
    std::vector<runtime::Task> clients;
    for (int i = 0; i < 8; ++i) {
      clients.push_back(runtime.spawn("client", [&](std::stop_token) {
        while (!done) {
          const net::Response response = stage.ask("GET", "/config/worker", k3_2);
          const bool whole =
              response.body == *one->by_version.at({3, 2}).body || response.body == *two->by_version.at({3, 2}).body;
          ++(whole ? right : wrong);
        }
      }));
    }
    for (int i = 0; i < 400 || right < 50; ++i) {
      stage.shelf.put_pool("worker", i % 2 == 0 ? two : one);
      (void)runtime.sleep(1ms, {});
    }
    done = true;
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(right, 50);
}

TEST(ConfigServer, ACertificateIsReplacedWithoutDroppingAConnection) {
  Stage stage;
  stage.shelf.put_pool("worker", answers_of("rendered-worker-1", "one"));
  auto kept =
      net::testing::RawTlsClient::connect(stage.server->port(), {.ca_pem = stage.authority.pem(), .identity = {}});
  ASSERT_TRUE(kept.ok());
  net::testing::TestAuthority other("another authority");
  const net::testing::TestIdentity next = other.server();
  EXPECT_FALSE(stage.server->set_identity("broken", next.key_pem).ok());
  EXPECT_FALSE(stage.server->set_identity(next.certificate_pem, stage.identity.key_pem).ok()) << "not its key";
  EXPECT_EQ(stage.ask("GET", "/config/worker", k3_2).status, 200) << "the old one stays in use";
  ASSERT_TRUE(stage.server->set_identity(next.certificate_pem, next.key_pem).ok());
  ASSERT_TRUE(kept->write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").ok());
  EXPECT_TRUE(kept->read_until("\r\n\r\n").ok());
  EXPECT_FALSE(
      net::testing::RawTlsClient::connect(stage.server->port(), {.ca_pem = stage.authority.pem(), .identity = {}})
          .ok());
  EXPECT_TRUE(net::testing::RawTlsClient::connect(stage.server->port(), {.ca_pem = other.pem(), .identity = {}}).ok());
}

}  // namespace strake::configserver::config_server_test
