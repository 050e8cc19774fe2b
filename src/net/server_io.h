// ServerIo: sockets, TLS and timers of the server, on its io threads. Private to this module; Asio stays in the .cc.
//
// ServerIo (server_io.cc) listens and makes room; a ServerConnection (server_connection.cc) is one socket with its TLS,
// deadlines and outbox around a Conversation.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "net/conversation.h"
#include "net/http_server.h"
#include "net/server_tls.h"

namespace boost::asio {
class io_context;
}

namespace strake::net {

class ServerConnection;

/// What the connections of one server share. It outlives them.
struct ConnectionHost {
  ConversationOptions conversation;
  std::chrono::milliseconds write_timeout{};
  /// Whether this one, whose handshake is over, may stay.
  std::function<bool(const PeerIdentity& identity)> admit;
  /// It is closed and does nothing any more.
  std::function<void(const ServerConnection* connection)> closed;
  std::atomic<std::uint64_t> failed_handshakes = 0;
  std::atomic<std::size_t> handshakes = 0;
};

/// Lives on its loop; may be called from any thread. Every operation under way holds a reference, so it goes when it is
/// closed and the last one has returned.
class ServerConnection {
 public:
  /// A socket that was accepted on this loop; it belongs to the connection from now on, as does `ssl`.
  struct Accepted {
    boost::asio::io_context& loop;
    int socket = -1;
    bool ipv6 = false;
    std::shared_ptr<const ServerTls> tls;
    ssl_st* ssl = nullptr;
  };
  static std::shared_ptr<ServerConnection> make(Accepted accepted, ConnectionHost& host);
  virtual ~ServerConnection() = default;

  virtual void start() = 0;
  /// Finishes what is under way and takes nothing new.
  virtual void drain() = 0;
  virtual void cut() = 0;

  // For whoever looks for room: since when it does nothing; 0 when it does something, or goes already.
  virtual std::int64_t handshaking_since() const = 0;
  virtual std::int64_t idle_since() const = 0;
  virtual void evict() = 0;
};

struct IoOptions {
  std::string address;
  std::uint16_t port = 0;
  std::size_t max_connections = 0;
  std::size_t max_handshakes = 0;
  std::chrono::milliseconds write_timeout{};
  unsigned threads = 1;
  std::function<bool(const PeerCertificate&)> is_privileged;
  ConversationOptions conversation;  ///< its callbacks run on io threads
};

class ServerIo {
 public:
  static Result<std::unique_ptr<ServerIo>> start(IoOptions options, std::shared_ptr<const ServerTls> tls);
  ~ServerIo();
  ServerIo(const ServerIo&) = delete;
  ServerIo& operator=(const ServerIo&) = delete;

  std::uint16_t port() const;
  ServerStats stats() const;
  void set_tls(std::shared_ptr<const ServerTls> tls);

  /// Returns when every connection is closed and every exchange detached; the io threads have then ended.
  void stop(std::chrono::milliseconds grace);

  struct Impl;

 private:
  explicit ServerIo(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace strake::net
