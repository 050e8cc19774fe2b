// ServerIo: sockets, TLS and timers of the server, on its io threads. Private to this module; Asio stays in the .cc.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "net/conversation.h"
#include "net/http_server.h"
#include "net/server_tls.h"

namespace strake::net {

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
