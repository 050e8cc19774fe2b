// A TLS server that answers with exactly the bytes a test wants, whole, in drips, or cut off.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "net/testing/test_authority.h"

namespace strake::net::testing {

class RawTlsServer {
 public:
  class Connection {
   public:
    virtual ~Connection() = default;
    /// False when the client is gone or the server stops.
    virtual bool send(std::string_view bytes) = 0;
    virtual bool pause(std::chrono::milliseconds time) = 0;
  };
  /// Called with the head of one request, in a thread of its own; the connection is closed when it returns.
  using Script = std::function<void(const std::string& head, Connection& connection)>;

  explicit RawTlsServer(Script script);
  ~RawTlsServer();
  RawTlsServer(const RawTlsServer&) = delete;
  RawTlsServer& operator=(const RawTlsServer&) = delete;

  std::uint16_t port() const;
  std::string ca_pem() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace strake::net::testing
