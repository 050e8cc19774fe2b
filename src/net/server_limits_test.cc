// What all clients together may take from the server: places, handshakes, bodies, answers that wait. Counted, not
// timed.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <fstream>
#include <latch>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/subprocess.h"
#include "net/http_server.h"
#include "net/testing/test_server.h"
#include "support/temp_dir.h"

namespace strake::net::server_limits_test {
namespace {

using namespace std::chrono_literals;
using testing::RawTlsClient;
using testing::TestServer;

constexpr std::size_t kMebibyte = 1024 * 1024;

void answer_ok(const ServerRequest&, const Responder& responder) { responder.send({200, {}, "ok"}); }

/// A connection without TLS that says nothing but this.
Fd connect_and_say(std::uint16_t port, std::string_view bytes) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_TRUE(write_all(socket.get(), bytes).ok());
  return socket;
}

void expect_answer(TestServer& server) {
  const auto response = server.client().send({"GET", server.url("/"), {}, {}});
  ASSERT_TRUE(response.ok()) << response.error().to_string();
  EXPECT_EQ(response->status, 200);
}

TEST(ServerLimits, ClientsThatSayNothingMakeRoom) {
  ServerOptions options;
  options.max_connections = 16;
  TestServer server(answer_ok, options);
  std::vector<Fd> silent;
  for (int i = 0; i < 200; ++i) silent.push_back(connect_and_say(server.server().port(), ""));
  expect_answer(server);
  EXPECT_GE(server.server().stats().evicted_connections, 184U);
  EXPECT_LE(server.server().stats().open_connections, 16U);
  EXPECT_EQ(server.server().stats().refused_connections, 0U);
}

TEST(ServerLimits, HalfHandshakesMakeRoom) {
  ServerOptions options;
  options.max_handshakes = 4;
  TestServer server(answer_ok, options);
  std::vector<Fd> halves;
  for (int i = 0; i < 40; ++i) halves.push_back(connect_and_say(server.server().port(), "\x16\x03"));
  while (server.server().stats().evicted_connections < 36) std::this_thread::yield();
  expect_answer(server);
  EXPECT_LE(server.server().stats().open_connections, 6U);
}

TEST(ServerLimits, IdleClientsMakeRoomAndBusyOnesAreKept) {
  std::latch arrived(2), go(1);
  ServerOptions options;
  options.max_connections = 16;
  TestServer server(
      [&](const ServerRequest& request, const Responder& responder) {
        if (request.raw_target == "/slow") {
          arrived.count_down();
          go.wait();
        }
        responder.send({200, {}, "ok"});
      },
      options);
  RawTlsClient busy = server.raw_client(), also_busy = server.raw_client();
  for (RawTlsClient* client : {&busy, &also_busy}) {
    ASSERT_TRUE(client->write("GET /slow HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").ok());
  }
  arrived.wait();
  std::vector<RawTlsClient> idle;
  for (int i = 0; i < 40; ++i) idle.push_back(server.raw_client());
  EXPECT_LE(server.server().stats().open_connections, 17U);
  go.count_down();
  EXPECT_TRUE(busy.read_to_end().ends_with("ok"));
  EXPECT_TRUE(also_busy.read_to_end().ends_with("ok"));
}

TEST(ServerLimits, TheUnknownNeedNotSendTheirBodies) {
  std::atomic<int> handled = 0;
  ServerOptions options;
  options.before_body = [](const ServerRequest& head) -> std::optional<Refusal> {
    if (head.headers.has("X-Known")) return std::nullopt;
    return Refusal{401, "who are you"};
  };
  TestServer server(
      [&](const ServerRequest& request, const Responder& responder) {
        ++handled;
        responder.send({200, {}, std::to_string(request.body.size())});
      },
      options);
  RawTlsClient unknown = server.raw_client();
  ASSERT_TRUE(unknown.write("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3000000\r\n\r\nab").ok());
  EXPECT_TRUE(unknown.read_to_end().starts_with("HTTP/1.1 401 "));
  RawTlsClient polite = server.raw_client();
  ASSERT_TRUE(polite.write("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n").ok());
  EXPECT_TRUE(polite.read_to_end().starts_with("HTTP/1.1 401 ")) << "and no 100 before it";
  EXPECT_EQ(handled, 0);
  const auto known = server.client().send({"POST", server.url("/"), {{"X-Known", "1"}}, "body"});
  ASSERT_TRUE(known.ok()) << known.error().to_string();
  EXPECT_EQ(known->body, "4");
}

TEST(ServerLimits, BodiesOfAllClientsTogether) {
  ServerOptions options;
  options.max_body_bytes = 100;
  options.max_total_body_bytes = 150;
  TestServer server(answer_ok, options);
  RawTlsClient first = server.raw_client();
  ASSERT_TRUE(first.write("POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 100\r\n\r\n").ok());
  while (server.server().stats().body_bytes == 0) std::this_thread::yield();
  for (const char* head : {"Content-Length: 60", "Transfer-Encoding: chunked"}) {
    RawTlsClient second = server.raw_client();
    ASSERT_TRUE(second.write(fmt::format("POST / HTTP/1.1\r\nHost: h\r\n{}\r\n\r\n", head)).ok());
    EXPECT_TRUE(second.read_to_end().starts_with("HTTP/1.1 429 ")) << head;
  }
  expect_answer(server);
  ASSERT_TRUE(first.write(std::string(100, 'x')).ok());
  EXPECT_TRUE(first.read_to_end().ends_with("ok"));
  const auto next = server.client().send({"POST", server.url("/"), {}, std::string(100, 'x')});
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(next->status, 200) << "what the first held is free again";
}

TEST(ServerLimits, AnswersThatWaitForTheirReaders) {
  ServerOptions options;
  options.gzip_above_bytes = 0;
  options.max_queued_bytes = 40 * kMebibyte;
  TestServer server(
      [](const ServerRequest& request, const Responder& responder) {
        responder.send({200, {}, std::string(request.raw_target == "/large" ? 16 * kMebibyte : 2, 'x')});
      },
      options);
  {
    std::vector<RawTlsClient> readers;
    for (int i = 0; i < 2; ++i) {
      readers.push_back(server.raw_client());
      ASSERT_TRUE(readers.back().write("GET /large HTTP/1.1\r\nHost: h\r\n\r\n").ok());
    }
    while (server.server().stats().queued_bytes < 32 * kMebibyte) std::this_thread::yield();
    const auto third = server.client().send({"GET", server.url("/large"), {}, {}});
    ASSERT_TRUE(third.ok()) << third.error().to_string();
    EXPECT_EQ(third->status, 429);
    expect_answer(server);  // small answers always go out
  }
  while (server.server().stats().queued_bytes > 0) std::this_thread::yield();
  const auto again = server.client().send({"GET", server.url("/large"), {}, {}});
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_EQ(again->body.size(), 16 * kMebibyte);
}

TEST(ServerLimits, StreamsNobodyReads) {
  ServerOptions options;
  options.max_queued_bytes = 2 * kMebibyte;
  std::mutex mutex;
  std::vector<std::shared_ptr<StreamSink>> sinks;
  TestServer server(
      [&](const ServerRequest&, const Responder& responder) {
        const std::scoped_lock lock(mutex);
        sinks.push_back(responder.stream({200, {}}, {.buffer_bytes = 64 * kMebibyte}));
      },
      options);
  RawTlsClient watcher = server.raw_client();
  ASSERT_TRUE(watcher.write("GET / HTTP/1.1\r\nHost: h\r\n\r\n").ok());
  const auto begun = [&] {
    const std::scoped_lock lock(mutex);
    return !sinks.empty();
  };
  while (!begun()) std::this_thread::yield();
  std::size_t written = 0;
  while (written < 64 * kMebibyte && sinks[0]->write(std::string(64 * 1024, 'x'))) written += 64 * 1024;
  EXPECT_LT(written, 64 * kMebibyte) << "cut off long before its own buffer is full";
  while (server.server().stats().queued_bytes > 0) std::this_thread::yield();
}

TEST(ServerLimits, HealthIsAnsweredWhenEveryHandlerIsBusy) {
  std::latch arrived(2), go(1);
  ServerOptions options;
  options.handler_threads = 2;
  options.is_urgent = [](const ServerRequest& request) { return request.raw_target == "/"; };
  TestServer server(
      [&](const ServerRequest& request, const Responder& responder) {
        if (request.raw_target == "/slow") {
          arrived.count_down();
          go.wait();
        }
        responder.send({200, {}, "ok"});
      },
      options);
  std::vector<RawTlsClient> slow;
  for (int i = 0; i < 2; ++i) {
    slow.push_back(server.raw_client());
    ASSERT_TRUE(slow.back().write("GET /slow HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").ok());
  }
  arrived.wait();
  expect_answer(server);
  go.count_down();
  for (RawTlsClient& client : slow) EXPECT_TRUE(client.read_to_end().ends_with("ok"));
}

/// Clients with this certificate are privileged.
ServerOptions with_privileged(std::size_t max_connections) {
  ServerOptions options;
  options.client_ca_pem = "self";
  options.max_connections = max_connections;
  options.is_privileged = [](const PeerCertificate& certificate) { return certificate.common_name == "root"; };
  return options;
}

TEST(ServerLimits, TheLastPlacesAreForThePrivileged) {
  std::atomic<int> streams = 0;
  std::mutex mutex;
  std::vector<std::shared_ptr<StreamSink>> sinks;
  TestServer server(
      [&](const ServerRequest& request, const Responder& responder) {
        if (request.raw_target != "/stream") return responder.send({200, {}, "ok"});
        const std::scoped_lock lock(mutex);
        sinks.push_back(responder.stream({200, {}}));
        ++streams;
      },
      with_privileged(32));
  // Busy clients take what they can get: 30 of 32 places.
  std::vector<RawTlsClient> busy;
  for (int i = 0; i < 30; ++i) {
    busy.push_back(server.raw_client());
    ASSERT_TRUE(busy.back().write("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n").ok());
  }
  while (streams < 30) std::this_thread::yield();
  RawTlsClient one_more = server.raw_client();
  (void)one_more.write("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(one_more.read_to_end(), "");
  EXPECT_EQ(server.server().stats().refused_connections, 1U);
  RawTlsClient root = server.raw_client(server.authority().client("root"));
  ASSERT_TRUE(root.write("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").ok());
  EXPECT_TRUE(root.read_to_end().ends_with("ok"));
}

TEST(ServerLimits, ThePrivilegedHaveThreadsWhenAllOthersAreBusy) {
  std::latch arrived(2), go(1);
  ServerOptions options = with_privileged(32);
  options.handler_threads = 2;
  TestServer server(
      [&](const ServerRequest& request, const Responder& responder) {
        if (request.raw_target == "/slow") {
          arrived.count_down();
          go.wait();
        }
        responder.send({200, {}, "ok"});
      },
      options);
  std::vector<RawTlsClient> slow;
  for (int i = 0; i < 2; ++i) {
    slow.push_back(server.raw_client());
    ASSERT_TRUE(slow.back().write("GET /slow HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").ok());
  }
  arrived.wait();
  RawTlsClient root = server.raw_client(server.authority().client("root"));
  ASSERT_TRUE(root.write("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").ok());
  EXPECT_TRUE(root.read_to_end().ends_with("ok"));
  go.count_down();
  for (RawTlsClient& client : slow) EXPECT_TRUE(client.read_to_end().ends_with("ok"));
}

TEST(ServerLimits, AnswersOfOneClientCountInItsShareToo) {
  const auto share = std::make_shared<ByteBudget>(10 * kMebibyte);
  ServerOptions options;
  options.gzip_above_bytes = 0;
  TestServer server(
      [&](const ServerRequest& request, const Responder& responder) {
        if (request.headers.has("X-Counted")) responder.count_queue_in(share);
        responder.send({200, {}, std::string(8 * kMebibyte, 'x')});
      },
      options);
  RawTlsClient reader = server.raw_client();
  ASSERT_TRUE(reader.write("GET / HTTP/1.1\r\nHost: h\r\nX-Counted: 1\r\n\r\n").ok());
  while (share->used() == 0) std::this_thread::yield();
  EXPECT_EQ(server.client().send({"GET", server.url("/"), {{"X-Counted", "1"}}, {}})->status, 429);
  EXPECT_EQ(server.client().send({"GET", server.url("/"), {}, {}})->status, 200) << "others are not concerned";
}

TEST(ServerLimits, AShareTakesFromTheWhole) {
  const auto whole = std::make_shared<ByteBudget>(10);
  const auto share = std::make_shared<ByteBudget>(8, whole);
  const auto server = std::make_shared<ByteBudget>(9);
  ByteBudget::Hold others(whole);
  EXPECT_TRUE(others.grow(4));
  ByteBudget::Hold own(server);
  own.count_also_in(share);
  EXPECT_FALSE(own.grow(7)) << "of the whole 6 are left";
  EXPECT_EQ(share->used() + server->used(), 0U) << "and nothing stays behind";
  others.release();
  EXPECT_FALSE(own.grow(9)) << "the share has 8";
  EXPECT_TRUE(own.grow(8));
  EXPECT_EQ(whole->used(), 8U);
  ByteBudget::Hold moved = std::move(own);
  moved.release();
  EXPECT_EQ(whole->used() + share->used() + server->used(), 0U);
}

TEST(ServerLimits, AHandlerEndsConnections) {
  std::mutex mutex;
  std::shared_ptr<ConnectionHandle> first;
  std::atomic<int> gone = 0;
  TestServer server([&](const ServerRequest& request, const Responder& responder) {
    const std::scoped_lock lock(mutex);
    if (request.raw_target == "/stream") {
      first = request.connection;
      first->on_gone([&] { ++gone; });
      responder.stream({200, {}})->write("begun");
    } else if (request.raw_target == "/cut") {
      first->cut();
      responder.send({200, {}, "cut"});
    } else {
      responder.end_connection();
      responder.send({200, {}, "last"});
    }
  });
  RawTlsClient watcher = server.raw_client();
  ASSERT_TRUE(watcher.write("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n").ok());
  ASSERT_TRUE(watcher.read_until("begun").ok());
  EXPECT_EQ(server.client().send({"GET", server.url("/cut"), {}, {}})->body, "cut");
  EXPECT_EQ(watcher.read_to_end().find("0\r\n\r\n"), std::string::npos) << "the stream just ends";
  while (gone == 0) std::this_thread::yield();
  EXPECT_EQ(first->idle_since(), 0);
  first->cut();  // of one that is gone does nothing
  bool at_once = false;
  first->on_gone([&] { at_once = true; });
  EXPECT_TRUE(at_once);
  RawTlsClient last = server.raw_client();
  ASSERT_TRUE(last.write("GET /last HTTP/1.1\r\nHost: h\r\n\r\n").ok());
  EXPECT_TRUE(last.read_to_end().ends_with("last")) << "although the client would have kept it";
}

// What a server of prepared answers needs: one body for many readers, and a say in which TLS is spoken.

Handler shared_answer(std::shared_ptr<const std::string> body) {
  return [body = std::move(body)](const ServerRequest&, const Responder& responder) {
    responder.send({200, {{"Content-Type", "application/json"}}}, body);
  };
}

TEST(ServerServing, ManySlowReadersOfOneBodyTakeNoRoom) {
  const auto body = std::make_shared<const std::string>(std::string(900'000, 'x') + "end");
  ServerOptions options;
  options.max_queued_bytes = 1'000'000;  // with bodies of their own two readers would be one too many
  TestServer server(shared_answer(body), options);
  std::vector<RawTlsClient> readers;
  for (int i = 0; i < 12; ++i) {
    readers.push_back(server.raw_client());
    ASSERT_TRUE(readers.back().write("GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").ok());
  }
  for (RawTlsClient& reader : readers) ASSERT_TRUE(reader.readable_within(20s));  // all are under way, none was refused
  EXPECT_EQ(server.server().stats().queued_bytes, 0U);
  for (RawTlsClient& reader : readers) {
    const std::string answer = reader.read_to_end();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n"));
    EXPECT_EQ(answer.substr(answer.find("\r\n\r\n") + 4), *body);
  }
}

TEST(ServerServing, TheHeadOfASharedBodyHasItsLengthAndTheConnectionGoesOn) {
  TestServer server(shared_answer(std::make_shared<const std::string>("{\"a\":1}")));
  RawTlsClient client = server.raw_client();
  ASSERT_TRUE(client.write("HEAD /a HTTP/1.1\r\nHost: a\r\n\r\n").ok());
  const auto head = client.read_until("\r\n\r\n");
  ASSERT_TRUE(head.ok());
  EXPECT_NE(head->find("Content-Length: 7\r\n"), std::string::npos) << *head;
  EXPECT_NE(head->find("Content-Type: application/json\r\n"), std::string::npos) << *head;
  ASSERT_TRUE(client.write("GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").ok());
  EXPECT_TRUE(client.read_to_end().ends_with("\r\n\r\n{\"a\":1}"));
}

/// What openssl, speaking nothing but TLS 1.2 with this suite, is told.
bool speaks_tls_1_2(TestServer& server, const std::string& suite) {
  const test::TempDir folder;
  std::ofstream(folder / "ca.pem") << server.authority().pem();
  Command command;
  command.argv = {"openssl",
                  "s_client",
                  "-brief",
                  "-tls1_2",
                  "-cipher",
                  suite,
                  "-CAfile",
                  (folder / "ca.pem").string(),
                  "-verify_return_error",
                  "-connect",
                  fmt::format("127.0.0.1:{}", server.server().port())};
  command.timeout = 60s;
  const auto output = run(command);
  EXPECT_TRUE(output.ok());
  return output.ok() && output->exit.success();
}

TEST(ServerServing, OnlyTheChosenTlsIsSpoken) {
  const auto answer = shared_answer(std::make_shared<const std::string>("x"));
  constexpr const char* kOne = "ECDHE-ECDSA-AES128-GCM-SHA256";
  constexpr const char* kOther = "ECDHE-ECDSA-AES256-GCM-SHA384";
  TestServer any(answer);
  EXPECT_TRUE(speaks_tls_1_2(any, kOne));
  EXPECT_TRUE(speaks_tls_1_2(any, kOther));
  ServerOptions chosen;
  chosen.tls.cipher_suites = {"TLS_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"};
  TestServer picky(answer, chosen);
  EXPECT_TRUE(speaks_tls_1_2(picky, kOne));
  EXPECT_FALSE(speaks_tls_1_2(picky, kOther));
  ServerOptions modern;
  modern.tls.minimum = TlsVersion::k1_3;
  TestServer strict(answer, modern);
  EXPECT_FALSE(speaks_tls_1_2(strict, kOne));
  const auto got = strict.client().send({"GET", strict.url("/"), {}, {}});
  ASSERT_TRUE(got.ok()) << got.error().to_string();
  EXPECT_EQ(got->body, "x");
}

TEST(ServerServing, ASuiteThatIsUnknownOrUnsafeIsRefusedByName) {
  testing::TestAuthority authority;
  const auto identity = authority.server();
  for (const char* name : {"no-such-suite", "ALL", "TLS_RSA_WITH_3DES_EDE_CBC_SHA", "RC4-SHA", "", "AES128-SHA:ALL"}) {
    ServerOptions options;
    options.certificate_pem = identity.certificate_pem;
    options.key_pem = identity.key_pem;
    options.tls.cipher_suites = {"ECDHE-ECDSA-AES128-GCM-SHA256", name};
    const auto server = HttpsServer::start(options, [](const ServerRequest&, const Responder&) {});
    ASSERT_FALSE(server.ok()) << name;
    EXPECT_NE(server.error().to_string().find(fmt::format("'{}'", name)), std::string::npos)
        << server.error().to_string();
  }
}

}  // namespace
}  // namespace strake::net::server_limits_test
