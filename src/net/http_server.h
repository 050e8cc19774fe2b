// HttpsServer: HTTP/1.1 over TLS for API servers, config servers and dashboards.
//
// A few io threads move bytes; handlers run on a bounded pool and may block. A handler answers through its Responder,
// at once or later, with a whole Response or with a stream. A stream is a bounded buffer that the io threads empty: a
// thousand watchers cost no thread. A client that does not read its stream is cut off when the buffer is full.
//
// Every wait for a client has a limit: TLS handshake, request head, request body, idle connection, each write.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/byte_budget.h"
#include "net/http.h"
#include "net/url.h"

namespace strake::net {

/// A client certificate that was verified against the client CA, for client use, at the time of the request.
struct PeerCertificate {
  std::string common_name;
  std::vector<std::string> organizations;
  std::chrono::sys_seconds not_after;
  std::string sha256;
  std::string serial;  ///< hexadecimal, lower case
};

/// The connection a request came on, for whoever counts connections or ends them. Thread safe; no call waits. It may
/// outlive the connection and the server.
class ConnectionHandle {
 public:
  virtual ~ConnectionHandle() = default;
  /// Since when it waits for a request, on a clock that is good for comparing only; 0 while it is busy, or gone.
  virtual std::int64_t idle_since() const = 0;
  /// Ends it at once, with what runs on it.
  virtual void cut() = 0;
  /// Called once, when it is gone: on an io thread, or in this call when it is gone already. Keep it short.
  virtual void on_gone(std::function<void()> callback) = 0;
};

struct ServerRequest {
  std::string method;
  std::string raw_target;
  Target target;
  Headers headers;
  std::string body;
  std::string peer_address;  ///< "192.0.2.7:40312"

  /// Present only when verified: whoever looks here alone is safe.
  std::optional<PeerCertificate> client_certificate;
  /// Why a certificate that was shown does not count; empty when there was none or it is good. Answer 401 with it.
  std::string client_certificate_problem;

  /// Counts the body as in use for as long as the request lives.
  std::shared_ptr<const void> body_hold;

  /// Requested when the client goes away or the server's grace ends: long work should stop.
  std::stop_token stop;
  /// Null for a head whose body is still to be read.
  std::shared_ptr<ConnectionHandle> connection;
};

/// The sending end of a streamed response. Thread-safe; no call waits. It may outlive the server.
class StreamSink {
 public:
  virtual ~StreamSink() = default;
  /// False when the stream is over, or is ended now because its buffer cannot take the bytes.
  virtual bool write(std::string bytes) = 0;
  /// Sends what is buffered and then ends the response properly.
  virtual void close() = 0;
  /// Called once when the stream ends for any reason but close(): the client left, was too slow, or the server stops.
  /// It runs on an io thread, or in this call when the stream is already over: keep it short.
  virtual void on_closed(std::function<void()> callback) = 0;
};

struct StreamOptions {
  std::size_t buffer_bytes = 1024 * 1024;
};

/// Answers one request, once. Copies share that one answer. When the last copy goes unanswered, the client gets a 500.
class Responder {
 public:
  void send(Response response) const;
  /// The same with a body that many answers share: it is not copied, so it costs no memory however many clients read
  /// it, however slowly. Never compressed.
  void send(ResponseHead head, std::shared_ptr<const std::string> body) const;
  std::shared_ptr<StreamSink> stream(ResponseHead head, StreamOptions options = {}) const;

  /// What waits for this client counts there too, beside all that waits in the server. Before the answer.
  void count_queue_in(const std::shared_ptr<ByteBudget>& share) const;
  /// The connection ends after the answer that is sent next.
  void end_connection() const;

  struct Impl;
  explicit Responder(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<Impl> impl_;
};

/// The request lives until the handler returns; what answers later copies what it needs.
using Handler = std::function<void(const ServerRequest&, Responder)>;

/// An answer the server gives by itself, without the handler.
struct Refusal {
  int status = 400;
  std::string message;
};

enum class TlsVersion { k1_2, k1_3 };

/// What a server accepts of its clients.
struct TlsPolicy {
  TlsVersion minimum = TlsVersion::k1_2;
  /// By their IANA or OpenSSL names, best first; empty: the library's choice. Those of TLS 1.3 are always in use, named
  /// or not.
  std::vector<std::string> cipher_suites;
};

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  ///< 0: any free one, see port()

  std::string certificate_pem;  ///< with its chain
  std::string key_pem;
  std::string client_ca_pem;  ///< empty: clients are not asked for a certificate
  TlsPolicy tls;
  /// Without TLS, for what only this machine may read, such as metrics: the address must be a loopback one.
  bool plain_on_loopback = false;

  /// Fewer where the limit of descriptors leaves no room for them. When all are taken, a newcomer takes the place of
  /// the client that said nothing for longest: first of those that never spoke, then of those in their handshake, then
  /// of the idle ones.
  std::size_t max_connections = 4096;
  std::size_t max_handshakes = 256;  ///< under way at once
  std::size_t max_header_bytes = 64 * 1024;
  std::size_t max_body_bytes = 3 * 1024 * 1024;
  /// Asked when a body is about to be read, with everything but the body: whoever is not known need not send it. On an
  /// io thread: must not wait.
  std::function<std::optional<Refusal>(const ServerRequest& head)> before_body;
  /// Bodies of all requests that are being read or handled; more are refused with 429.
  std::size_t max_total_body_bytes = 64 * 1024 * 1024;
  /// Answers and streams that wait for their clients. Beyond it large answers become a 429, and streams whose clients
  /// do not keep up are cut off.
  std::size_t max_queued_bytes = 48 * 1024 * 1024;
  std::size_t gzip_above_bytes =
      128 * 1024;  ///< compress text bodies larger than this for clients that accept it; 0: never

  std::chrono::milliseconds request_timeout{
      30'000};  ///< for the handshake, and again from a request's first byte to its last
  std::chrono::milliseconds idle_timeout{120'000};  ///< between requests
  std::chrono::milliseconds write_timeout{30'000};  ///< for the client to take up to 64 KiB

  unsigned io_threads = 2;
  unsigned handler_threads = 8;
  /// Requests that are answered even when every handler thread is busy, by a thread of their own: health checks.
  std::function<bool(const ServerRequest&)> is_urgent;
  /// Clients that are let in when busy clients have taken all places but the last sixteenth, and answered by spare
  /// threads when all others are busy: administrators. On an io thread: must not wait.
  std::function<bool(const PeerCertificate&)> is_privileged;
  unsigned spare_threads = 2;

  /// The body of the answers the server gives by itself (400, 408, 413, 431, 500, ...); absent: a line of text. Called
  /// on any thread; must not throw.
  std::function<Response(int status, std::string_view message)> error_response;
};

struct ServerStats {
  std::size_t open_connections = 0;
  std::uint64_t accepted_connections = 0;
  std::uint64_t refused_connections = 0;  ///< over max_connections
  std::uint64_t evicted_connections = 0;  ///< made room for others
  std::size_t body_bytes = 0;             ///< see ServerOptions::max_total_body_bytes
  std::size_t queued_bytes = 0;           ///< see ServerOptions::max_queued_bytes
  std::uint64_t failed_handshakes = 0;
  std::uint64_t requests = 0;
};

class HttpsServer {
 public:
  /// Listens and serves from the moment it returns.
  static Result<HttpsServer> start(ServerOptions options, Handler handler);
  HttpsServer(HttpsServer&&) noexcept;
  HttpsServer& operator=(HttpsServer&&) noexcept;
  /// Stops without grace.
  ~HttpsServer();

  std::uint16_t port() const;
  ServerStats stats() const;

  /// For connections accepted from now on. On error the old one stays in use.
  Status set_certificate(const std::string& certificate_pem, const std::string& key_pem);
  Status set_client_ca(const std::string& client_ca_pem);

  /// Stops accepting, ends streams and idle connections, and lets running requests finish within `grace`; then cuts
  /// what is left and waits for the handlers to return. Not to be called from a handler.
  void stop(std::chrono::milliseconds grace);

 private:
  struct Impl;
  explicit HttpsServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace strake::net
