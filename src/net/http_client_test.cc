// The client: redirects, proxies, credentials, limits, and what each failure is called.
#include "net/http_client.h"

#include <cstdlib>
#include <fstream>
#include <latch>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "net/testing/connect_proxy.h"
#include "net/testing/test_server.h"
#include "support/temp_dir.h"

namespace strake::net::http_client_test {
namespace {

using namespace std::chrono_literals;
using testing::ConnectProxy;
using testing::TestServer;

/// What arrived, one line a fact.
void report(const ServerRequest& request, const Responder& responder) {
  std::string text = request.method + " " + request.raw_target + "\n" + request.body + "\n";
  for (const char* name : {"Authorization", "Cookie", "Content-Type", "User-Agent", "X-Kept"}) {
    text += fmt::format("{}: {}\n", name, request.headers.get(name).value_or("-"));
  }
  text += "client: " + (request.client_certificate ? request.client_certificate->common_name : "-") + "\n";
  responder.send({200, {}, text});
}

/// Redirects /to/STATUS?URL to URL and reports everything else.
void redirect_or_report(const ServerRequest& request, const Responder& responder) {
  const auto& segments = request.target.segments;
  if (segments.size() != 2 || segments[0] != "to") return report(request, responder);
  const std::string target = request.raw_target.substr(request.raw_target.find('?') + 1);
  responder.send({std::atoi(segments[1].c_str()), {{"Location", target}}, "moved"});
}

std::string must_body(const HttpClient& client, const Request& request) {
  const auto response = client.send(request);
  EXPECT_TRUE(response.ok()) << response.error().to_string();
  return response.ok() ? response->body : std::string();
}

ServerOptions asking_for_certificates() {
  ServerOptions options;
  options.client_ca_pem = "self";
  return options;
}

TEST(HttpClientTest, MethodsBodiesAndFields) {
  TestServer server(report);
  ClientOptions options = server.client_options();
  options.user_agent = "strake/test";
  const HttpClient client = TestServer::client(options);
  EXPECT_EQ(must_body(client, {"GET", server.url("/a"), {{"X-Kept", ""}}, {}}),
            "GET /a\n\nAuthorization: -\nCookie: -\nContent-Type: -\nUser-Agent: strake/test\nX-Kept: \nclient: -\n");
  for (const char* method : {"POST", "PUT", "PATCH", "DELETE"}) {
    const std::string body =
        must_body(client, {method, server.url("/b"), {{"Content-Type", "application/json"}}, "{}"});
    EXPECT_TRUE(body.starts_with(std::string(method) + " /b\n{}\n")) << body;
    EXPECT_NE(body.find("Content-Type: application/json\n"), std::string::npos);
  }
  EXPECT_NE(must_body(client, {"POST", server.url("/c"), {}, "x"}).find("Content-Type: -\n"), std::string::npos);
  EXPECT_TRUE(must_body(client, {"POST", server.url("/d"), {}, ""}).starts_with("POST /d\n\n"));
  EXPECT_TRUE(must_body(client, {"DELETE", server.url("/e"), {}, ""}).starts_with("DELETE /e\n\n"));
  const auto head = client.send({"HEAD", server.url("/f"), {}, {}});
  ASSERT_TRUE(head.ok()) << head.error().to_string();
  EXPECT_EQ(head->body, "");
  EXPECT_NE(head->headers.get("Content-Length"), "0");
}

TEST(HttpClientTest, RefusesRequestsThatWouldSmuggle) {
  TestServer server(report);
  const HttpClient client = server.client();
  for (const Request& bad :
       {Request{"GET / HTTP/1.1\r\nX:", server.url("/"), {}, {}},
        Request{"GET", server.url("/"), {{"X", "a\r\nHost: b"}}, {}}, Request{"GET", server.url("/\r\n"), {}, {}},
        Request{"GET", "/relative", {}, {}}, Request{"GET", "https://user:secret@127.0.0.1/", {}, {}}}) {
    const auto result = client.send(bad);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code(), Code::kInvalidArgument) << result.error().to_string();
    EXPECT_EQ(result.error().to_string().find("secret"), std::string::npos);
  }
  EXPECT_EQ(client.send({"GET", "ftp://127.0.0.1/", {}, {}}).error().code(), Code::kUnsupported);
}

TEST(HttpClientTest, FollowsRedirects) {
  TestServer server(redirect_or_report);
  const HttpClient client = server.client();
  const Headers json{{"Content-Type", "application/json"}};
  struct Case {
    const char* method;
    int status;
    const char* arrives;
  };
  for (const Case& c :
       {Case{"GET", 301, "GET /end\n\n"}, Case{"GET", 307, "GET /end\n\n"}, Case{"POST", 302, "GET /end\n\n"},
        Case{"POST", 303, "GET /end\n\n"}, Case{"PUT", 303, "GET /end\n\n"}, Case{"PUT", 302, "PUT /end\nbody\n"},
        Case{"POST", 307, "POST /end\nbody\n"}, Case{"PATCH", 308, "PATCH /end\nbody\n"}}) {
    const bool sends = std::string_view(c.method) != "GET";
    const std::string body = must_body(client, {c.method, server.url(fmt::format("/to/{}?/end", c.status)),
                                                sends ? json : Headers{}, sends ? "body" : ""});
    EXPECT_TRUE(body.starts_with(c.arrives)) << c.method << " " << c.status << ": " << body;
    EXPECT_EQ(body.find("Content-Type: application/json") != std::string::npos,
              body.find("\nbody\n") != std::string::npos);
  }
  EXPECT_EQ(client.send({"GET", server.url("/to/304?/end"), {}, {}})->status, 304) << "not a redirect";

  ClientOptions options = server.client_options();
  options.max_redirects = 0;
  const auto seen = TestServer::client(options).send({"GET", server.url("/to/302?/end"), {}, {}});
  EXPECT_EQ(seen->status, 302);
  EXPECT_EQ(seen->body, "moved");
}

TEST(HttpClientTest, RedirectsHaveLimits) {
  TestServer server([](const ServerRequest& request, const Responder& responder) {
    responder.send({302, {{"Location", request.raw_target == "/down" ? "http://127.0.0.1:1/" : "/loop"}}, ""});
  });
  const HttpClient client = server.client();
  EXPECT_EQ(client.send({"GET", server.url("/loop"), {}, {}}).error().code(), Code::kExhausted);
  const auto downgraded = client.send({"GET", server.url("/down"), {}, {}});
  EXPECT_EQ(downgraded.error().code(), Code::kDenied) << downgraded.error().to_string();
}

TEST(HttpClientTest, SecretsStayWithTheirOrigin) {
  TestServer other(redirect_or_report, asking_for_certificates());
  TestServer server(redirect_or_report, asking_for_certificates());
  const testing::TestIdentity admin = server.authority().client("admin");
  ClientOptions options = server.client_options();
  options.ca_pem += other.authority().pem();
  options.client_certificate_pem = admin.certificate_pem;
  options.client_key_pem = admin.key_pem;
  options.bearer_token = "s3cret";
  const HttpClient client = TestServer::client(options);
  const Headers fields{{"Cookie", "session=1"}, {"X-Kept", "yes"}};

  const std::string same = must_body(client, {"GET", server.url("/to/302?/end"), fields, {}});
  EXPECT_NE(same.find("Authorization: Bearer s3cret\nCookie: session=1\n"), std::string::npos) << same;
  EXPECT_NE(same.find("client: admin\n"), std::string::npos) << same;

  const std::string crossed = must_body(client, {"GET", server.url("/to/302?" + other.url("/end")), fields, {}});
  EXPECT_NE(crossed.find("Authorization: -\nCookie: -\n"), std::string::npos) << crossed;
  EXPECT_NE(crossed.find("client: -\n"), std::string::npos) << crossed;
  EXPECT_NE(crossed.find("X-Kept: yes\n"), std::string::npos) << crossed;

  // Back at the first origin they are its own again.
  const std::string back =
      must_body(client, {"GET", server.url("/to/302?" + other.url("/to/302?" + server.url("/end"))), fields, {}});
  EXPECT_NE(back.find("Authorization: Bearer s3cret\n"), std::string::npos) << back;

  options.bearer_token.clear();
  options.basic_auth = BasicAuth{"user", "pa:ss"};
  const HttpClient basic = TestServer::client(options);
  EXPECT_NE(must_body(basic, {"GET", server.url("/end"), {}, {}}).find("Authorization: Basic dXNlcjpwYTpzcw=="),
            std::string::npos);
  EXPECT_NE(must_body(basic, {"GET", server.url("/to/307?" + other.url("/end")), {}, {}}).find("Authorization: -\n"),
            std::string::npos);
  const std::string own_field = must_body(basic, {"GET", server.url("/end"), {{"Authorization", "Bearer mine"}}, {}});
  EXPECT_NE(own_field.find("Authorization: Bearer mine\n"), std::string::npos) << "the request's own field wins";
}

TEST(HttpClientTest, CredentialsDoNotTravelInTheClear) {
  ClientOptions options;
  options.proxy = ProxySettings{};
  options.bearer_token = "s3cret";
  for (const char* url : {"http://registry.example/v2/", "http://127.evil.example/", "http://192.0.2.1/"}) {
    const auto refused = TestServer::client(options).send({"GET", url, {}, {}});
    EXPECT_EQ(refused.error().code(), Code::kInvalidArgument) << refused.error().to_string();
  }
}

TEST(HttpClientTest, FailuresHaveNames) {
  TestServer server(report);
  const HttpClient client = server.client();
  const std::uint16_t port = server.server().port();
  const std::string query = "?signature=s3cret";

  const auto wrong_host =
      TestServer::client(server.client_options()).send({"GET", fmt::format("https://127.0.0.2:{}/", port), {}, {}});
  ASSERT_FALSE(wrong_host.ok());
  EXPECT_TRUE(wrong_host.error().code() == Code::kDenied || wrong_host.error().code() == Code::kUnavailable);

  testing::TestAuthority stranger;
  ClientOptions distrusting = server.client_options();
  distrusting.ca_pem = stranger.pem();
  const auto untrusted = TestServer::client(distrusting).send({"GET", server.url("/x" + query), {}, {}});
  EXPECT_EQ(untrusted.error().code(), Code::kDenied);
  EXPECT_NE(untrusted.error().to_string().find("--certificate-authority"), std::string::npos) << "says what to do";
  EXPECT_EQ(untrusted.error().to_string().find("s3cret"), std::string::npos) << "a query may be a signature";

  server.server().stop(0ms);
  const auto refused = client.send({"GET", server.url("/x" + query), {}, {}});
  EXPECT_EQ(refused.error().code(), Code::kUnavailable) << refused.error().to_string();
  EXPECT_NE(refused.error().to_string().find("GET https://127.0.0.1"), std::string::npos) << "names the request";
  EXPECT_EQ(refused.error().to_string().find("s3cret"), std::string::npos);
  EXPECT_EQ(client.send({"GET", "https://no-such-host.invalid/", {}, {}}).error().code(), Code::kUnavailable);
}

TEST(HttpClientTest, TheHostMustMatchTheCertificate) {
  testing::TestAuthority authority;
  LeafRequest request;
  request.common_name = "localhost";
  request.dns_names = {"elsewhere.example"};
  request.server_auth = true;
  const testing::TestIdentity identity = authority.issue(request);
  ServerOptions options;
  options.certificate_pem = identity.certificate_pem;
  options.key_pem = identity.key_pem;
  const auto server = HttpsServer::start(options, report);
  ASSERT_TRUE(server.ok());
  ClientOptions client;
  client.ca_pem = authority.pem();
  client.proxy = ProxySettings{};
  const auto result =
      TestServer::client(client).send({"GET", fmt::format("https://localhost:{}/", server->port()), {}, {}});
  EXPECT_EQ(result.error().code(), Code::kDenied) << result.error().to_string();
}

TEST(HttpClientTest, TimeoutsAndCancellation) {
  std::mutex mutex;
  std::vector<Responder> unanswered;
  std::latch asked(2);
  TestServer server([&](const ServerRequest&, const Responder& responder) {
    const std::scoped_lock lock(mutex);
    unanswered.push_back(responder);
    asked.count_down();
  });
  const HttpClient client = server.client();
  CallOptions call;
  call.timeout = 50ms;
  EXPECT_EQ(client.send({"GET", server.url("/"), {}, {}}, call).error().code(), Code::kTimeout);

  std::stop_source stop;
  call.timeout = 0ms;
  call.stop = stop.get_token();
  std::thread canceller([&] {
    asked.wait();
    stop.request_stop();
  });
  EXPECT_EQ(client.send({"GET", server.url("/"), {}, {}}, call).error().code(), Code::kCancelled);
  canceller.join();
  EXPECT_EQ(client.send({"GET", server.url("/"), {}, {}}, call).error().code(), Code::kCancelled) << "already stopped";
  const std::scoped_lock lock(mutex);
  unanswered.clear();
}

TEST(HttpClientTest, AnswersHaveLimits) {
  TestServer server([](const ServerRequest& request, const Responder& responder) {
    if (request.raw_target == "/headers") return responder.send({200, {{"X-Long", std::string(5000, 'h')}}, ""});
    responder.send(
        {200, {{"Content-Type", "text/plain"}}, std::string(200'000, 'b')});  // travels as a few hundred bytes
  });
  ClientOptions options = server.client_options();
  options.max_body_bytes = 100'000;
  options.max_header_bytes = 4000;
  const HttpClient client = TestServer::client(options);
  EXPECT_EQ(client.send({"GET", server.url("/body"), {}, {}}).error().code(), Code::kExhausted)
      << "counted after decompression";
  EXPECT_EQ(client.send({"GET", server.url("/headers"), {}, {}}).error().code(), Code::kExhausted);
}

TEST(HttpClientTest, GoesThroughAProxy) {
  TestServer server(report);
  ConnectProxy proxy("Basic cHJveHktdXNlcjpwcm94eS1wYXNz");
  ClientOptions options = server.client_options();
  options.bearer_token = "s3cret";
  options.proxy = ProxySettings{fmt::format("http://proxy-user:proxy-pass@127.0.0.1:{}", proxy.port()), "", "", false};
  const std::string body = must_body(TestServer::client(options), {"GET", server.url("/via"), {{"Cookie", "c"}}, {}});
  EXPECT_NE(body.find("Authorization: Bearer s3cret\n"), std::string::npos) << body;
  ASSERT_EQ(proxy.heads().size(), 1U);
  const std::string seen = proxy.heads().front();
  EXPECT_TRUE(seen.starts_with(fmt::format("CONNECT 127.0.0.1:{} HTTP/1.1\r\n", server.server().port()))) << seen;
  EXPECT_EQ(seen.find("s3cret"), std::string::npos) << "the proxy learns nothing of the request";
  EXPECT_EQ(seen.find("Cookie"), std::string::npos);

  options.proxy->no_proxy = "127.0.0.0/8";
  must_body(TestServer::client(options), {"GET", server.url("/direct"), {}, {}});
  EXPECT_EQ(proxy.heads().size(), 1U);

  options.proxy = ProxySettings{fmt::format("http://wrong:proxy-pass@127.0.0.1:{}", proxy.port()), "", "", false};
  const auto denied = TestServer::client(options).send({"GET", server.url("/"), {}, {}});
  EXPECT_EQ(denied.error().code(), Code::kUnauthenticated) << denied.error().to_string();
  EXPECT_EQ(denied.error().to_string().find("proxy-pass"), std::string::npos);

  options.proxy->bypass_loopback = true;
  EXPECT_TRUE(TestServer::client(options).send({"GET", server.url("/"), {}, {}}).ok()) << "this machine needs no proxy";
}

TEST(HttpClientTest, ProxySettingsOfTheEnvironment) {
  ::unsetenv("https_proxy");
  ::setenv("HTTPS_PROXY", "http://upper:1", 1);
  ::setenv("HTTP_PROXY", "http://upper:2", 1);
  ::setenv("http_proxy", "http://lower:2", 1);
  ::setenv("NO_PROXY", ".example,10.0.0.0/8", 1);
  const ProxySettings settings = proxy_from_environment();
  for (const char* name : {"HTTPS_PROXY", "HTTP_PROXY", "http_proxy", "NO_PROXY"}) ::unsetenv(name);
  EXPECT_EQ(settings.https_proxy, "http://upper:1");
  EXPECT_EQ(settings.http_proxy, "http://lower:2");
  EXPECT_EQ(settings.no_proxy, ".example,10.0.0.0/8");
  EXPECT_TRUE(settings.bypass_loopback);
}

TEST(HttpClientTest, OptionsAreCheckedAtOnce) {
  testing::TestAuthority authority;
  const testing::TestIdentity one = authority.client("one");
  const auto code = [](auto change) {
    ClientOptions options;
    change(options);
    const auto client = HttpClient::create(options);
    return client.ok() ? std::nullopt : std::optional(client.error().code());
  };
  EXPECT_EQ(code([](ClientOptions& o) { o.ca_pem = "no certificate"; }), Code::kInvalidArgument);
  EXPECT_EQ(code([](ClientOptions& o) { o.ca_file = "/nonexistent/ca.pem"; }), Code::kIo);
  EXPECT_EQ(code([](ClientOptions& o) { o.bearer_token = "a\nb"; }), Code::kInvalidArgument);
  EXPECT_EQ(code([&](ClientOptions& o) { o.client_certificate_pem = one.certificate_pem; }), Code::kInvalidArgument);
  EXPECT_EQ(code([&](ClientOptions& o) {
              o.client_certificate_pem = one.certificate_pem;
              o.client_key_pem = authority.client("two").key_pem;
            }),
            Code::kInvalidArgument);
}

TEST(HttpClientTest, TrustComesFromAFileToo) {
  TestServer server(report);
  const test::TempDir folder;
  std::ofstream(folder / "ca.pem") << server.authority().pem();
  ClientOptions options = server.client_options();
  options.ca_pem.clear();
  options.ca_file = folder / "ca.pem";
  EXPECT_TRUE(must_body(TestServer::client(options), {"GET", server.url("/"), {}, {}}).starts_with("GET /"));
}

}  // namespace
}  // namespace strake::net::http_client_test
