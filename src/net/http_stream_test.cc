// Streams and stopping: watches, clients that leave or do not read, and a server that ends.
#include <atomic>
#include <latch>
#include <mutex>
#include <semaphore>
#include <thread>

#include <gtest/gtest.h>

#include "net/testing/test_server.h"

namespace strake::net::http_stream_test {
namespace {

using namespace std::chrono_literals;
using testing::RawTlsClient;
using testing::TestServer;

/// Hands the sinks of all streams to the test.
class Watches {
 public:
  explicit Watches(StreamOptions options = {}) : options_(options) {}

  Handler handler() {
    return [this](const ServerRequest&, const Responder& responder) {
      auto sink = responder.stream({200, {{"Content-Type", "application/json"}}}, options_);
      sink->on_closed([this] { closed_.release(); });
      const std::scoped_lock lock(mutex_);
      sinks_.push_back(std::move(sink));
      opened_.release();
    };
  }

  std::shared_ptr<StreamSink> next() {
    opened_.acquire();
    const std::scoped_lock lock(mutex_);
    return sinks_.back();
  }

  void wait_for_closed() { closed_.acquire(); }
  bool closed_now() { return closed_.try_acquire(); }

 private:
  const StreamOptions options_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<StreamSink>> sinks_;
  std::counting_semaphore<> opened_{0};
  std::counting_semaphore<> closed_{0};
};

TEST(HttpStreamTest, AThousandPiecesArriveInOrder) {
  std::string expected;
  for (int i = 0; i < 1000; ++i) expected += fmt::format("event {}\n", i);
  TestServer server([](const ServerRequest&, const Responder& responder) {
    const auto sink = responder.stream({200, {}});
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(sink->write(fmt::format("event {}\n", i)));
    sink->close();
  });
  std::string received;
  int status = 0;
  const auto head = server.client().stream(
      {"GET", server.url("/watch"), {}, {}},
      [&](const ResponseHead& seen) {
        status = seen.status;
        return Status();
      },
      [&](std::string_view data) {
        EXPECT_EQ(status, 200) << "the head comes first";
        received += data;
        return Status();
      });
  ASSERT_TRUE(head.ok()) << head.error().to_string();
  EXPECT_EQ(head->headers.get("Transfer-Encoding"), "chunked");
  EXPECT_EQ(received, expected);
}

TEST(HttpStreamTest, TheHeadArrivesBeforeAnyData) {
  Watches watches;
  TestServer server(watches.handler());
  const HttpClient client = server.client();
  std::latch head_seen(1);
  std::string received;
  std::thread reader([&] {
    const auto end = client.stream(
        {"GET", server.url("/watch"), {}, {}},
        [&](const ResponseHead&) {
          head_seen.count_down();
          return Status();
        },
        [&](std::string_view data) {
          received += data;
          return Status();
        });
    EXPECT_TRUE(end.ok()) << end.error().to_string();
  });
  const auto sink = watches.next();
  head_seen.wait();  // nothing has been written yet
  EXPECT_TRUE(sink->write("event"));
  sink->close();
  reader.join();
  EXPECT_EQ(received, "event");
  EXPECT_FALSE(watches.closed_now()) << "whoever closes needs no news of it";
}

TEST(HttpStreamTest, CancellingWakesTheClientAndTellsTheServer) {
  Watches watches;
  TestServer server(watches.handler());
  const HttpClient client = server.client();
  std::stop_source stop;
  CallOptions call;
  call.stop = stop.get_token();
  std::latch got_data(1);
  std::optional<Code> code;
  std::thread reader([&] {
    const auto end = client.stream(
        {"GET", server.url("/watch"), {}, {}}, {},
        [&](std::string_view) {
          got_data.count_down();
          return Status();
        },
        call);
    if (!end.ok()) code = end.error().code();
  });
  const auto sink = watches.next();
  EXPECT_TRUE(sink->write("event"));
  got_data.wait();
  stop.request_stop();
  reader.join();
  EXPECT_EQ(code, Code::kCancelled);
  watches.wait_for_closed();
  EXPECT_FALSE(sink->write("more"));
}

TEST(HttpStreamTest, AnErrorFromTheCallbackEndsTheCall) {
  Watches watches;
  TestServer server(watches.handler());
  const HttpClient client = server.client();
  std::thread writer([&] { watches.next()->write("event"); });
  const auto refused = client.stream({"GET", server.url("/"), {}, {}}, {},
                                     [](std::string_view) -> Status { return error(Code::kCorrupt, "not my format"); });
  EXPECT_EQ(refused.error().code(), Code::kCorrupt);
  writer.join();
  const auto refused_head = client.stream(
      {"GET", server.url("/"), {}, {}}, [](const ResponseHead&) -> Status { return error(Code::kExpired, "gone"); },
      [](std::string_view) { return Status(); });
  EXPECT_EQ(refused_head.error().code(), Code::kExpired);
  std::thread second_writer([&] {
    watches.next();
    watches.next()->write("event");
  });
  const auto thrown = client.stream({"GET", server.url("/"), {}, {}}, {},
                                    [](std::string_view) -> Status { throw std::runtime_error("broken callback"); });
  EXPECT_EQ(thrown.error().code(), Code::kInternal);
  second_writer.join();
}

TEST(HttpStreamTest, ASilentStreamTimesOutOnlyWhenAsked) {
  Watches watches;
  TestServer server(watches.handler());
  CallOptions call;
  call.idle_timeout = 50ms;
  const auto end =
      server.client().stream({"GET", server.url("/"), {}, {}}, {}, [](std::string_view) { return Status(); }, call);
  EXPECT_EQ(end.error().code(), Code::kTimeout);
  watches.wait_for_closed();
}

TEST(HttpStreamTest, AClientThatDoesNotReadIsCutOff) {
  Watches watches({64 * 1024});
  TestServer server(watches.handler());
  RawTlsClient client = server.raw_client();
  ASSERT_TRUE(client.write("GET /watch HTTP/1.1\r\nHost: h\r\n\r\n").ok());
  const auto sink = watches.next();
  // The kernel's buffers take some megabytes before anybody notices.
  std::size_t written = 0;
  while (sink->write(std::string(16 * 1024, 'x')) && written < (1U << 30U)) written += 16 * 1024;
  EXPECT_LT(written, 1U << 30U);
  watches.wait_for_closed();
  EXPECT_FALSE(sink->write("x"));
}

TEST(HttpStreamTest, ManyWatchersNeedNoThreads) {
  constexpr int kWatchers = 50;
  Watches watches;
  ServerOptions options;
  options.io_threads = 1;
  options.handler_threads = 1;
  TestServer server(watches.handler(), options);
  std::vector<RawTlsClient> clients;
  std::vector<std::shared_ptr<StreamSink>> sinks;
  for (int i = 0; i < kWatchers; ++i) {
    clients.push_back(server.raw_client());
    ASSERT_TRUE(clients.back().write("GET /watch HTTP/1.1\r\nHost: h\r\n\r\n").ok());
    sinks.push_back(watches.next());
  }
  for (const auto& sink : sinks) EXPECT_TRUE(sink->write("broadcast"));
  for (RawTlsClient& client : clients) EXPECT_TRUE(client.read_until("broadcast\r\n").ok());
  EXPECT_EQ(server.server().stats().open_connections, static_cast<std::size_t>(kWatchers));
  clients.clear();
  for (int i = 0; i < kWatchers; ++i) watches.wait_for_closed();
}

TEST(HttpStopTest, StreamsEndProperlyWhenTheServerStops) {
  Watches watches;
  TestServer server(watches.handler());
  const HttpClient client = server.client();
  std::string received;
  std::latch got_data(1);
  std::thread reader([&] {
    const auto end = client.stream({"GET", server.url("/watch"), {}, {}}, {}, [&](std::string_view data) {
      if (received.empty()) got_data.count_down();
      received += data;
      return Status();
    });
    EXPECT_TRUE(end.ok()) << "a proper end, not a broken connection: " << end.error().to_string();
  });
  const auto sink = watches.next();
  sink->write("event");
  got_data.wait();
  server.server().stop(30s);
  watches.wait_for_closed();
  reader.join();
  EXPECT_EQ(received, "event");
  EXPECT_FALSE(sink->write("after the end"));
  server.server().stop(0s);  // again: nothing happens
}

TEST(HttpStopTest, RunningHandlersFinishWithinTheGrace) {
  std::latch running(1);
  std::latch release(1);
  TestServer server([&](const ServerRequest&, const Responder& responder) {
    running.count_down();
    release.wait();
    responder.send({200, {}, "done"});
  });
  const HttpClient client = server.client();
  std::thread caller([&] {
    const auto response = client.send({"GET", server.url("/"), {}, {}});
    ASSERT_TRUE(response.ok()) << response.error().to_string();
    EXPECT_EQ(response->body, "done");
    EXPECT_EQ(response->headers.get("Connection"), "close");
  });
  running.wait();
  const std::uint16_t port = server.server().port();
  std::thread stopper([&] { server.server().stop(60s); });
  while (testing::port_is_open(port)) std::this_thread::yield();
  release.count_down();
  caller.join();
  stopper.join();
}

TEST(HttpStopTest, AfterTheGraceHandlersAreAskedToStop) {
  std::latch running(1);
  TestServer server([&](const ServerRequest& request, const Responder& responder) {
    std::binary_semaphore stopped(0);
    const std::stop_callback on_stop(request.stop, [&] { stopped.release(); });
    running.count_down();
    stopped.acquire();
    responder.send({200, {}, "too late"});
  });
  const HttpClient client = server.client();
  std::thread caller([&] {
    const auto response = client.send({"GET", server.url("/"), {}, {}});
    ASSERT_FALSE(response.ok());
    EXPECT_EQ(response.error().code(), Code::kUnavailable);
  });
  running.wait();
  server.server().stop(0ms);
  caller.join();
}

TEST(HttpStopTest, ASinkMayOutliveItsServer) {
  Watches watches;
  std::shared_ptr<StreamSink> sink;
  {
    TestServer server(watches.handler());
    RawTlsClient client = server.raw_client();
    ASSERT_TRUE(client.write("GET /watch HTTP/1.1\r\nHost: h\r\n\r\n").ok());
    sink = watches.next();
  }
  EXPECT_FALSE(sink->write("x"));
  bool told = false;
  sink->on_closed([&] { told = true; });
  EXPECT_TRUE(told);
  sink->close();
}

TEST(HttpStopTest, AClientThatLeavesStopsItsHandler) {
  std::latch running(1);
  std::latch stopped(1);
  TestServer server([&](const ServerRequest& request, const Responder& responder) {
    const std::stop_callback on_stop(request.stop, [&] { stopped.count_down(); });
    running.count_down();
    stopped.wait();
    responder.send({200, {}, "nobody"});
  });
  {
    RawTlsClient client = server.raw_client();
    ASSERT_TRUE(client.write("GET / HTTP/1.1\r\nHost: h\r\n\r\n").ok());
    running.wait();
  }
  stopped.wait();
}

}  // namespace
}  // namespace strake::net::http_stream_test
