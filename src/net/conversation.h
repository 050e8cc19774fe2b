// Conversation: the HTTP/1.1 side of one server connection, without a socket. Private to this module.
//
//   reading -> handling -> writing ---------> reading ...      (keep-alive)
//      |           `-----> streaming ---^        |
//      `-- bad or late request: writing ---------+--> over
//
// It is told what happened (bytes came, everything was written, time is up) and tells its transport what to do. All
// calls come from one thread at a time. While a handler works or a stream runs the transport keeps reading: that
// notices a client that leaves, and collects the beginning of a pipelined request.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/exchange.h"
#include "net/http_server.h"
#include "net/request_parser.h"
#include "net/server_tls.h"

namespace strake::net {

struct ConversationOptions {
  ParserLimits limits;
  std::chrono::milliseconds request_timeout{};
  std::chrono::milliseconds idle_timeout{};
  /// Must not block. The answer goes into the exchange, whenever it is ready.
  std::function<void(ServerRequest, std::shared_ptr<Exchange>)> on_request;
  /// For a request that never reaches on_request.
  std::function<Response(int status, std::string_view message)> error_response;
  std::function<std::chrono::sys_seconds()> now;
  std::function<std::optional<Refusal>(const ServerRequest& head)> before_body;
  std::shared_ptr<ByteBudget> bodies;  ///< absent: not counted
  std::shared_ptr<ByteBudget> queue;   ///< absent: not counted
};

/// What a conversation asks of its connection. None of these calls back before it returns.
class ConversationTransport {
 public:
  /// Queued in order; on_written() follows when the queue is empty.
  virtual void send(std::string bytes) = 0;
  /// The same for bytes that others send too.
  virtual void send_shared(std::shared_ptr<const std::string> bytes) { send(*bytes); }
  virtual bool sending() const = 0;
  virtual void set_deadline(std::chrono::milliseconds time) = 0;
  virtual void clear_deadline() = 0;
  /// Between requests: this client may be sent away to make room.
  virtual void set_idle(bool idle) = 0;
  /// Called with an empty queue; the client can still read all of the last answer. A client that was refused may still
  /// be sending its request.
  virtual void close_gracefully(bool client_may_be_sending) = 0;
  virtual void close_now() = 0;
  /// Callable from any thread while the exchange is attached; makes on_output() be called.
  virtual std::function<void()> output_signal() = 0;
  /// For requests: what their handlers may hold of the connection.
  virtual std::shared_ptr<ConnectionHandle> handle() { return nullptr; }

 protected:
  ~ConversationTransport() = default;
};

class Conversation {
 public:
  Conversation(const ConversationOptions& options, ConversationTransport& transport)
      : options_(options), transport_(transport) {}

  void begin(std::string peer_address, PeerIdentity identity);
  bool wants_bytes() const;
  void on_bytes(std::string_view bytes);
  void on_peer_end();
  void on_written();
  void on_deadline();
  void on_output();
  /// The server stops: finish what is under way and take nothing new.
  void on_drain();
  /// The connection is gone. Nothing may be called after this.
  void abandon();

 private:
  enum class State { kReading, kHandling, kStreaming, kWriting, kOver };

  void begin_request();
  void parse();
  void dispatch();
  ServerRequest server_request(ParsedRequest parsed);
  std::optional<ParseFailure> check_body(const ParsedRequest& head, std::optional<std::uint64_t> announced);
  void send_response(Response response, std::shared_ptr<const std::string> shared_body = nullptr);
  void send_stream_head(const ResponseHead& head);
  void send_stream_bytes(const std::string& bytes, bool end);
  void refuse(int status, std::string_view message);
  void close_gracefully();
  void close_now();

  const ConversationOptions& options_;
  ConversationTransport& transport_;
  std::string peer_address_;
  PeerIdentity identity_;

  State state_ = State::kReading;
  bool draining_ = false;
  bool peer_ended_ = false;
  bool refused_ = false;

  std::string inbox_;  ///< received and not yet parsed
  std::optional<RequestParser> parser_;
  bool request_started_ = false;
  bool continue_sent_ = false;
  ByteBudget::Hold body_hold_;

  // Of the request being answered.
  std::shared_ptr<Exchange> exchange_;
  bool keep_alive_ = false;
  bool head_only_ = false;
  bool http_1_0_ = false;
  bool chunked_ = false;
};

}  // namespace strake::net
