// One connection of the server: its socket, TLS, deadlines and outbox around a Conversation. Private to this module;
// Asio stays in the .cc.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "net/conversation.h"
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

}  // namespace strake::net
