// The HTTP side of a connection without sockets or threads: every order of events can be written down.
#include "net/conversation.h"

#include <gtest/gtest.h>

namespace strake::net::conversation_test {
namespace {

using namespace std::chrono_literals;

class FakeTransport final : public ConversationTransport {
 public:
  void send(std::string bytes) override {
    sent += bytes;
    busy = true;
  }
  bool sending() const override { return busy; }
  void set_deadline(std::chrono::milliseconds time) override { deadline = time; }
  void clear_deadline() override { deadline.reset(); }
  void set_idle(bool is_idle) override { idle = is_idle; }
  void close_gracefully(bool client_may_be_sending) override {
    closed = client_may_be_sending ? "lingering" : "gracefully";
  }
  void close_now() override { closed = "now"; }
  std::function<void()> output_signal() override {
    return [this] { ++signals; };
  }

  std::string sent;
  bool busy = false;
  std::optional<std::chrono::milliseconds> deadline;
  std::string closed;
  bool idle = false;
  int signals = 0;
};

class ConversationTest : public ::testing::Test {
 protected:
  ConversationTest() {
    options_.limits = {1024, 64};
    options_.request_timeout = 30s;
    options_.idle_timeout = 120s;
    options_.on_request = [this](ServerRequest request, std::shared_ptr<Exchange> exchange) {
      requests_.push_back(std::move(request));
      exchanges_.push_back(std::move(exchange));
    };
    options_.error_response = [](int status, std::string_view message) {
      return Response{status, {}, std::string(message)};
    };
    options_.now = [this] { return now_; };
    conversation_.begin("192.0.2.1:5", {});
  }

  void get(const std::string& path) { conversation_.on_bytes("GET " + path + " HTTP/1.1\r\nHost: h\r\n\r\n"); }

  /// The socket took everything.
  void flush() {
    transport_.busy = false;
    conversation_.on_written();
  }

  std::string take_sent() { return std::exchange(transport_.sent, {}); }

  ConversationOptions options_;
  std::chrono::sys_seconds now_{};
  FakeTransport transport_;
  Conversation conversation_{options_, transport_};
  std::vector<ServerRequest> requests_;
  std::vector<std::shared_ptr<Exchange>> exchanges_;
};

TEST_F(ConversationTest, PipelinedRequestsAreAnsweredInOrder) {
  get("/1");
  get("/2");
  ASSERT_EQ(requests_.size(), 1U) << "the second waits for the answer to the first";
  exchanges_[0]->respond({200, {}, "one"});
  EXPECT_EQ(transport_.signals, 1);
  conversation_.on_output();
  EXPECT_NE(take_sent().find("one"), std::string::npos);
  flush();
  ASSERT_EQ(requests_.size(), 2U);
  EXPECT_EQ(requests_[1].raw_target, "/2");
  exchanges_[1]->respond({200, {}, "two"});
  conversation_.on_output();
  EXPECT_NE(take_sent().find("two"), std::string::npos);
  flush();
  EXPECT_EQ(transport_.closed, "");
  EXPECT_EQ(transport_.deadline, 120s);
}

TEST_F(ConversationTest, ReadingAheadHasALimit) {
  get("/1");
  EXPECT_TRUE(conversation_.wants_bytes());
  conversation_.on_bytes(std::string(64 * 1024, 'x'));
  EXPECT_FALSE(conversation_.wants_bytes());
}

TEST_F(ConversationTest, DripsDoNotMoveTheDeadline) {
  EXPECT_EQ(transport_.deadline, 120s);
  conversation_.on_bytes("G");
  EXPECT_EQ(transport_.deadline, 30s);
  transport_.deadline = 1s;  // 29 seconds later
  conversation_.on_bytes("ET / HT");
  EXPECT_EQ(transport_.deadline, 1s);
  conversation_.on_deadline();
  EXPECT_TRUE(take_sent().starts_with("HTTP/1.1 408 "));
  flush();
  EXPECT_EQ(transport_.closed, "lingering");
}

TEST_F(ConversationTest, AnIdleConnectionIsJustClosed) {
  conversation_.on_deadline();
  EXPECT_EQ(take_sent(), "");
  EXPECT_EQ(transport_.closed, "now");
}

TEST_F(ConversationTest, ContinueIsSentOnceAndOnlyForABodyThatIsWelcome) {
  const std::string head = "PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: ";
  conversation_.on_bytes(head + "3\r\n\r\n");
  EXPECT_EQ(take_sent(), "HTTP/1.1 100 Continue\r\n\r\n");
  conversation_.on_bytes("a");
  EXPECT_EQ(take_sent(), "");
  conversation_.on_bytes("bc");
  ASSERT_EQ(requests_.size(), 1U);
  EXPECT_EQ(requests_[0].body, "abc");
  exchanges_[0]->respond({200, {}, ""});
  conversation_.on_output();
  EXPECT_EQ(take_sent(), "") << "the interim answer is still on its way";
  flush();
  EXPECT_TRUE(take_sent().starts_with("HTTP/1.1 200 "));
  flush();
  conversation_.on_bytes(head + "65\r\n\r\n");
  EXPECT_TRUE(take_sent().starts_with("HTTP/1.1 413 "));
}

TEST_F(ConversationTest, HeadAndEmptyAnswersHaveNoBody) {
  conversation_.on_bytes("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
  exchanges_[0]->respond({200, {}, "four"});
  conversation_.on_output();
  const std::string head = take_sent();
  EXPECT_NE(head.find("Content-Length: 4\r\n"), std::string::npos);
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));
  flush();
  get("/");
  exchanges_[1]->respond({204, {}, "dropped"});
  conversation_.on_output();
  const std::string empty = take_sent();
  EXPECT_EQ(empty.find("Content-Length"), std::string::npos);
  EXPECT_TRUE(empty.ends_with("\r\n\r\n"));
}

TEST_F(ConversationTest, StreamBytesWaitForASlowClient) {
  get("/watch");
  exchanges_[0]->begin_stream({200, {}}, {10});
  EXPECT_TRUE(exchanges_[0]->write("aaaa"));
  conversation_.on_output();
  const std::string first = take_sent();
  EXPECT_NE(first.find("Transfer-Encoding: chunked\r\n"), std::string::npos);
  EXPECT_TRUE(first.ends_with("\r\n\r\n4\r\naaaa\r\n"));
  EXPECT_TRUE(exchanges_[0]->write("bbbb"));
  EXPECT_TRUE(exchanges_[0]->write("cccc"));
  conversation_.on_output();
  EXPECT_EQ(take_sent(), "") << "the first piece has not left yet";
  flush();
  EXPECT_EQ(take_sent(), "8\r\nbbbbcccc\r\n");
  exchanges_[0]->close();
  flush();
  EXPECT_EQ(take_sent(), "0\r\n\r\n");
  flush();
  EXPECT_EQ(transport_.closed, "") << "the connection can be used again";
  EXPECT_FALSE(exchanges_[0]->write("late"));
}

TEST_F(ConversationTest, AnOverrunStreamIsCut) {
  get("/watch");
  bool told = false;
  exchanges_[0]->begin_stream({200, {}}, {10});
  exchanges_[0]->on_closed([&] { told = true; });
  EXPECT_TRUE(exchanges_[0]->write("0123456789"));
  EXPECT_FALSE(exchanges_[0]->write("x"));
  EXPECT_FALSE(told) << "not from inside write()";
  conversation_.on_output();
  EXPECT_EQ(transport_.closed, "now");
  conversation_.abandon();
  EXPECT_TRUE(told);
}

TEST_F(ConversationTest, OldClientsGetTheStreamWithoutChunks) {
  conversation_.on_bytes("GET / HTTP/1.0\r\n\r\n");
  exchanges_[0]->begin_stream({200, {}}, {});
  exchanges_[0]->write("abc");
  exchanges_[0]->close();
  conversation_.on_output();
  const std::string sent = take_sent();
  EXPECT_EQ(sent.find("Transfer-Encoding"), std::string::npos);
  EXPECT_TRUE(sent.ends_with("Connection: close\r\n\r\nabc"));
  flush();
  EXPECT_EQ(transport_.closed, "gracefully");
}

TEST_F(ConversationTest, AClientThatLeavesStopsItsHandler) {
  get("/long");
  bool told = false;
  exchanges_[0]->on_closed([&] { told = true; });
  EXPECT_FALSE(requests_[0].stop.stop_requested());
  conversation_.on_peer_end();
  EXPECT_EQ(transport_.closed, "now");
  conversation_.abandon();
  EXPECT_TRUE(requests_[0].stop.stop_requested());
  EXPECT_TRUE(told);
  exchanges_[0]->respond({200, {}, "nobody listens"});
  EXPECT_EQ(transport_.signals, 0) << "a detached exchange wakes nobody";
}

TEST_F(ConversationTest, OnClosedAfterTheEndIsCalledAtOnceAndAfterCloseNever) {
  get("/watch");
  exchanges_[0]->begin_stream({200, {}}, {});
  int calls = 0;
  exchanges_[0]->on_closed([&] { ++calls; });
  exchanges_[0]->close();
  conversation_.abandon();
  EXPECT_EQ(calls, 0);

  const auto other = std::make_shared<Exchange>([] {});
  other->begin_stream({200, {}}, {});
  other->detach();
  other->on_closed([&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST_F(ConversationTest, DrainingEndsStreamsProperlyAndLetsHandlersFinish) {
  get("/watch");
  bool told = false;
  exchanges_[0]->begin_stream({200, {}}, {});
  exchanges_[0]->on_closed([&] { told = true; });
  exchanges_[0]->write("last words");
  conversation_.on_drain();
  EXPECT_TRUE(told == false) << "the head is not out yet: the handler is still answering";
  conversation_.on_output();
  EXPECT_TRUE(told);
  const std::string sent = take_sent();
  EXPECT_NE(sent.find("Connection: close\r\n"), std::string::npos);
  EXPECT_TRUE(sent.ends_with("a\r\nlast words\r\n0\r\n\r\n"));
  flush();
  EXPECT_EQ(transport_.closed, "gracefully");
}

TEST_F(ConversationTest, DrainingClosesAnIdleConnectionAndNotAHalfReadRequest) {
  conversation_.on_bytes("GET / HTTP/1.1\r\n");
  conversation_.on_drain();
  EXPECT_EQ(transport_.closed, "");
  conversation_.on_bytes("Host: h\r\n\r\n");
  exchanges_[0]->respond({200, {}, "served"});
  conversation_.on_output();
  EXPECT_NE(take_sent().find("Connection: close\r\n"), std::string::npos);
  flush();
  EXPECT_EQ(transport_.closed, "gracefully");
}

TEST_F(ConversationTest, AHeaderThatWouldBreakTheAnswerBecomesA500) {
  get("/");
  exchanges_[0]->respond({200, {{"X", "a\r\nSet-Cookie: b"}}, "secret"});
  conversation_.on_output();
  const std::string sent = take_sent();
  EXPECT_TRUE(sent.starts_with("HTTP/1.1 500 ")) << sent;
  EXPECT_EQ(sent.find("Set-Cookie"), std::string::npos);
  EXPECT_EQ(sent.find("secret"), std::string::npos);
}

TEST_F(ConversationTest, ACertificateDoesNotOutliveItselfOnALongConnection) {
  FakeTransport transport;
  Conversation conversation(options_, transport);
  PeerIdentity identity;
  identity.certificate = PeerCertificate{"admin", {"system:masters"}, std::chrono::sys_seconds(100s), "ab", "01"};
  conversation.begin("192.0.2.1:6", identity);
  now_ = std::chrono::sys_seconds(100s);
  conversation.on_bytes("GET /1 HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(requests_[0].client_certificate->common_name, "admin");
  exchanges_[0]->respond({200, {}, ""});
  conversation.on_output();
  transport.busy = false;
  conversation.on_written();
  now_ = std::chrono::sys_seconds(101s);
  conversation.on_bytes("GET /2 HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_FALSE(requests_[1].client_certificate.has_value());
  EXPECT_NE(requests_[1].client_certificate_problem.find("expired"), std::string::npos);
}

}  // namespace
}  // namespace strake::net::conversation_test
