// The server against this module's client and against raw bytes, over real TLS on the loopback.
#include "net/http_server.h"

#include <atomic>
#include <fstream>
#include <latch>
#include <mutex>
#include <semaphore>
#include <thread>

#include <gtest/gtest.h>

#include "base/subprocess.h"
#include "net/testing/test_server.h"
#include "support/temp_dir.h"

namespace strake::net::http_server_test {
namespace {

using namespace std::chrono_literals;
using testing::RawTlsClient;
using testing::TestAuthority;
using testing::TestIdentity;
using testing::TestServer;

void echo(const ServerRequest& request, const Responder& responder) {
  responder.send(
      {200, {{"Content-Type", "text/plain"}}, request.method + " " + request.raw_target + " " + request.body});
}

void say_who(const ServerRequest& request, const Responder& responder) {
  if (!request.client_certificate_problem.empty()) return responder.send({401, {}, request.client_certificate_problem});
  if (!request.client_certificate) return responder.send({200, {}, "anonymous"});
  std::string text = request.client_certificate->common_name;
  for (const std::string& organization : request.client_certificate->organizations) text += "," + organization;
  responder.send({200, {}, text});
}

Response must_get(const HttpClient& client, const std::string& url) {
  auto response = client.send({"GET", url, {}, {}});
  EXPECT_TRUE(response.ok()) << response.error().to_string();
  return response.ok() ? *std::move(response) : Response{0, {}, {}};
}

TEST(HttpServerTest, KeepsConnectionsAlive) {
  TestServer server(echo);
  const HttpClient client = server.client();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(must_get(client, server.url("/a?b")).body, "GET /a?b ");
  auto posted = client.send({"POST", server.url("/p"), {{"Content-Type", "text/plain"}}, "body"});
  ASSERT_TRUE(posted.ok()) << posted.error().to_string();
  EXPECT_EQ(posted->body, "POST /p body");
  EXPECT_TRUE(posted->headers.has("Date"));
  EXPECT_EQ(server.server().stats().accepted_connections, 1U);
  EXPECT_EQ(server.server().stats().requests, 4U);
}

TEST(HttpServerTest, WithoutTlsOnlyOnTheLoopback) {
  ServerOptions options;
  options.plain_on_loopback = true;
  auto server = HttpsServer::start(options, echo);
  ASSERT_TRUE(server.ok()) << server.error().to_string();
  ClientOptions client_options;
  client_options.proxy = ProxySettings{};
  const auto client = HttpClient::create(client_options);
  ASSERT_TRUE(client.ok());
  const std::string url = fmt::format("http://127.0.0.1:{}", server->port());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(must_get(*client, url + "/metrics").body, "GET /metrics ");
  EXPECT_EQ(server->stats().accepted_connections, 1U);
  auto closed = client->send({"GET", url + "/", {{"Connection", "close"}}, {}});
  ASSERT_TRUE(closed.ok()) << closed.error().to_string();
  EXPECT_EQ(closed->body, "GET / ");
  server->stop(1s);

  for (const char* address : {"0.0.0.0", "::", "192.0.2.1"}) {
    options.address = address;
    const auto refused = HttpsServer::start(options, echo);
    ASSERT_FALSE(refused.ok()) << address;
    EXPECT_EQ(refused.error().code(), Code::kInvalidArgument);
  }
}

TEST(HttpServerTest, OneClientServesManyThreads) {
  TestServer server(echo);
  const HttpClient client = server.client();
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const std::string path = fmt::format("/{}/{}", t, i);
        EXPECT_EQ(must_get(client, server.url(path)).body, "GET " + path + " ");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(server.server().stats().requests, 120U);
  EXPECT_LE(server.server().stats().accepted_connections, 6U) << "connections are reused between threads";
}

TEST(HttpServerTest, ClientCertificates) {
  ServerOptions options;
  options.client_ca_pem = "self";
  TestServer server(say_who, options);
  TestAuthority foreign("test authority");
  const auto answer = [&](const TestIdentity& identity) {
    ClientOptions client = server.client_options();
    client.client_certificate_pem = identity.certificate_pem;
    client.client_key_pem = identity.key_pem;
    return must_get(TestServer::client(client), server.url("/"));
  };
  EXPECT_EQ(answer({}).body, "anonymous");
  EXPECT_EQ(answer(server.authority().client("admin", {"system:masters", "ops"})).body, "admin,system:masters,ops");

  const Response unknown = answer(foreign.client("admin", {"system:masters"}));
  EXPECT_EQ(unknown.status, 401) << unknown.body;

  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  LeafRequest expired;
  expired.common_name = "admin";
  expired.client_auth = true;
  expired.validity = {now - 48h, now - 24h};
  const Response late = answer(server.authority().issue(expired));
  EXPECT_EQ(late.status, 401);
  EXPECT_NE(late.body.find("expired"), std::string::npos) << late.body;

  const Response wrong_use = answer(server.authority().server());
  EXPECT_EQ(wrong_use.status, 401) << "a server certificate is no client's: " << wrong_use.body;
}

TEST(HttpServerTest, CertificatesAreReplacedWhileServing) {
  TestServer server(echo);
  const HttpClient old_client = server.client();
  must_get(old_client, server.url("/"));
  TestAuthority renewed("renewed authority");
  const TestIdentity identity = renewed.server();

  EXPECT_FALSE(server.server().set_certificate(identity.certificate_pem, renewed.server().key_pem).ok());
  must_get(server.client(), server.url("/still-the-old-one"));

  ASSERT_TRUE(server.server().set_certificate(identity.certificate_pem, identity.key_pem).ok());
  ClientOptions options = server.client_options();
  options.ca_pem = renewed.pem();
  EXPECT_EQ(must_get(TestServer::client(options), server.url("/new")).body, "GET /new ");
  EXPECT_EQ(must_get(old_client, server.url("/kept")).body, "GET /kept ") << "an open connection goes on";
  EXPECT_EQ(server.client().send({"GET", server.url("/"), {}, {}}).error().code(), Code::kDenied);
}

TEST(HttpServerTest, BadOptionsAreNamed) {
  TestAuthority authority;
  const TestIdentity identity = authority.server();
  ServerOptions options;
  EXPECT_EQ(HttpsServer::start(options, echo).error().code(), Code::kInvalidArgument);
  options.certificate_pem = identity.certificate_pem;
  options.key_pem = identity.key_pem;
  options.address = "localhost";
  EXPECT_EQ(HttpsServer::start(options, echo).error().code(), Code::kInvalidArgument);
  options.address = "127.0.0.1";
  auto first = HttpsServer::start(options, echo);
  ASSERT_TRUE(first.ok()) << first.error().to_string();
  options.port = first->port();
  auto second = HttpsServer::start(options, echo);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().to_string().find(std::to_string(options.port)), std::string::npos)
      << second.error().to_string();
}

TEST(HttpServerTest, TlsVersionsAndAlpn) {
  TestServer server(echo);
  EXPECT_EQ(server.raw_client().alpn(), "http/1.1");
  testing::RawTlsOptions old;
  old.ca_pem = server.authority().pem();
  old.only_tls_1_1 = true;
  EXPECT_FALSE(RawTlsClient::connect(server.server().port(), old).ok());
}

TEST(HttpServerTest, BodiesAndHeadersHaveLimits) {
  ServerOptions options;
  options.max_body_bytes = 1000;
  options.max_header_bytes = 2000;
  options.error_response = [](int status, std::string_view message) {
    return Response{status, {{"Content-Type", "application/json"}}, fmt::format("{{\"message\":\"{}\"}}", message)};
  };
  TestServer server(echo, options);
  const HttpClient client = server.client();
  // A body much larger than every buffer on the way: the answer must arrive although the server does not read it all.
  auto too_long = client.send({"PUT", server.url("/"), {{"Expect", ""}}, std::string(8'000'000, 'x')});
  ASSERT_TRUE(too_long.ok()) << too_long.error().to_string();
  EXPECT_EQ(too_long->status, 413);
  EXPECT_EQ(too_long->headers.get("Content-Type"), "application/json");
  EXPECT_EQ(client.send({"PUT", server.url("/"), {}, std::string(1000, 'x')})->status, 200);
  EXPECT_EQ(client.send({"GET", server.url("/"), {{"X-Long", std::string(3000, 'x')}}, {}})->status, 431);

  RawTlsClient raw = server.raw_client();
  ASSERT_TRUE(raw.write("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n").ok());
  const std::string answer = raw.read_to_end();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 413 ")) << answer;
}

TEST(HttpServerTest, SlowClientsAreDropped) {
  ServerOptions options;
  options.request_timeout = 50ms;
  options.idle_timeout = 50ms;
  TestServer server(echo, options);
  EXPECT_TRUE(testing::connect_and_wait_for_close(server.server().port()).ok()) << "no handshake";
  EXPECT_EQ(server.raw_client().read_to_end(), "") << "no request";

  RawTlsClient half_head = server.raw_client();
  ASSERT_TRUE(half_head.write("GET / HTTP/1.1\r\nHost:").ok());
  EXPECT_TRUE(half_head.read_to_end().starts_with("HTTP/1.1 408 "));

  RawTlsClient half_body = server.raw_client();
  ASSERT_TRUE(half_body.write("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc").ok());
  EXPECT_TRUE(half_body.read_to_end().starts_with("HTTP/1.1 408 "));

  // Each drip comes well before the time is up; together they must not win any.
  RawTlsClient drips = server.raw_client();
  ASSERT_TRUE(drips.write("GET / HTTP/1.1\r\nHost: h\r\nX: ").ok());
  for (int i = 0; i < 10'000 && !drips.readable_within(2ms); ++i) {
    if (!drips.write("x").ok()) break;
  }
  EXPECT_TRUE(drips.read_to_end().starts_with("HTTP/1.1 408 "));
}

TEST(HttpServerTest, PipelinedRequestsComeBackInOrder) {
  TestServer server(echo);
  RawTlsClient client = server.raw_client();
  ASSERT_TRUE(client
                  .write("GET /1 HTTP/1.1\r\nHost: h\r\n\r\nPUT /2 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"
                         "GET /3 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                  .ok());
  const std::string all = client.read_to_end();
  const auto first = all.find("GET /1 ");
  const auto second = all.find("PUT /2 abc");
  const auto third = all.find("GET /3 ");
  ASSERT_NE(third, std::string::npos) << all;
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
}

TEST(HttpServerTest, ContinueIsHonoured) {
  TestServer server(echo);
  RawTlsClient client = server.raw_client();
  ASSERT_TRUE(client.write("PUT /x HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n").ok());
  const auto interim = client.read_until("\r\n\r\n");
  ASSERT_TRUE(interim.ok()) << interim.error().to_string();
  EXPECT_EQ(*interim, "HTTP/1.1 100 Continue\r\n\r\n");
  ASSERT_TRUE(client.write("abc").ok());
  EXPECT_TRUE(client.read_until("PUT /x abc").ok());
}

TEST(HttpServerTest, HandlersThatFailStillAnswer) {
  TestServer server([](const ServerRequest& request, const Responder& responder) {
    if (request.raw_target == "/throw") throw std::runtime_error("inner secret");
    if (request.raw_target == "/inject") responder.send({200, {{"X", "a\r\nY: b"}}, "x"});
  });
  const HttpClient client = server.client();
  for (const char* path : {"/throw", "/forget", "/inject"}) {
    const Response response = must_get(client, server.url(path));
    EXPECT_EQ(response.status, 500) << path;
    EXPECT_EQ(response.body.find("inner secret"), std::string::npos);
  }
}

TEST(HttpServerTest, AnswersMayComeLaterFromAnotherThread) {
  std::mutex mutex;
  std::vector<Responder> waiting;
  std::latch all_waiting(3);
  ServerOptions options;
  options.handler_threads = 1;
  TestServer server(
      [&](const ServerRequest&, const Responder& responder) {
        const std::scoped_lock lock(mutex);
        waiting.push_back(responder);
        all_waiting.count_down();
      },
      options);
  const HttpClient client = server.client();
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back([&] { EXPECT_EQ(must_get(client, server.url("/")).body, "later"); });
  all_waiting.wait();  // three requests under way on one handler thread
  {
    const std::scoped_lock lock(mutex);
    for (const Responder& responder : waiting) responder.send({200, {}, "later"});
    waiting.clear();
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(HttpServerTest, LongTextIsCompressedForThoseWhoAcceptIt) {
  const std::string text(200'000, 'a');
  TestServer server([&](const ServerRequest&, const Responder& responder) {
    responder.send({200, {{"Content-Type", "application/json"}}, text});
  });
  const Response response = must_get(server.client(), server.url("/"));
  EXPECT_EQ(response.body, text);
  EXPECT_EQ(response.headers.get("Vary"), "Accept-Encoding") << "it travelled compressed";
  auto plain = server.client().send({"GET", server.url("/"), {{"Accept-Encoding", "identity"}}, {}});
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->body, text);
  EXPECT_FALSE(plain->headers.has("Vary"));
}

TEST(HttpServerTest, ConnectionsHaveALimit) {
  std::latch arrived(2), go(1);
  ServerOptions options;
  options.max_connections = 2;
  TestServer server(
      [&](const ServerRequest&, const Responder& responder) {
        arrived.count_down();
        go.wait();
        responder.send({200, {}, "ok"});
      },
      options);
  RawTlsClient first = server.raw_client(), second = server.raw_client();
  for (RawTlsClient* client : {&first, &second}) {
    ASSERT_TRUE(client->write("GET / HTTP/1.1\r\nHost: h\r\n\r\n").ok());
  }
  arrived.wait();  // who is being served is not sent away
  testing::RawTlsOptions third;
  third.ca_pem = server.authority().pem();
  EXPECT_FALSE(RawTlsClient::connect(server.server().port(), third).ok());
  EXPECT_EQ(server.server().stats().refused_connections, 1U);
  EXPECT_EQ(server.server().stats().open_connections, 2U);
  go.count_down();
}

TEST(HttpServerTest, CurlProgramAgrees) {
  ServerOptions options;
  options.client_ca_pem = "self";
  TestServer server(
      [](const ServerRequest& request, const Responder& responder) {
        if (request.raw_target == "/who") return say_who(request, responder);
        if (request.raw_target == "/stream") {
          const auto sink = responder.stream({200, {}});
          for (int i = 0; i < 100; ++i) sink->write(fmt::format("{}\n", i));
          return sink->close();
        }
        responder.send({200, {{"Content-Type", "text/plain"}}, request.body});
      },
      options);
  const test::TempDir folder;
  const TestIdentity identity = server.authority().client("admin");
  std::ofstream(folder / "ca.pem") << server.authority().pem();
  std::ofstream(folder / "cert.pem") << identity.certificate_pem;
  std::ofstream(folder / "key.pem") << identity.key_pem;
  const auto curl = [&](std::vector<std::string> arguments, std::string input = {}) {
    Command command;
    command.argv = {"curl", "-sS", "--noproxy", "*", "--fail", "--cacert", (folder / "ca.pem").string()};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    command.stdin_bytes = std::move(input);
    command.timeout = 60s;
    const auto output = run_checked(command);
    EXPECT_TRUE(output.ok()) << output.error().to_string();
    return output.ok() ? output->stdout_bytes : std::string();
  };
  const std::string body(2'000'000, 'b');  // large enough for curl to ask with Expect: 100-continue
  EXPECT_EQ(curl({"--compressed", "-X", "PUT", "--data-binary", "@-", server.url("/")}, body), body);
  EXPECT_EQ(
      curl({"--cert", (folder / "cert.pem").string(), "--key", (folder / "key.pem").string(), server.url("/who")}),
      "admin");
  const std::string twice = curl({server.url("/stream"), server.url("/stream")});
  EXPECT_TRUE(twice.starts_with("0\n1\n2\n"));
  EXPECT_TRUE(twice.ends_with("98\n99\n"));
  EXPECT_EQ(std::ranges::count(twice, '\n'), 200);
}

}  // namespace
}  // namespace strake::net::http_server_test
