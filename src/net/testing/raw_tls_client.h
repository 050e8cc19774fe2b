// A TLS client that sends exactly the bytes a test wants, whole or in drips, right or wrong.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/testing/test_authority.h"

namespace strake::net::testing {

struct RawTlsOptions {
  std::string ca_pem;
  TestIdentity identity;  ///< empty: no client certificate
  bool only_tls_1_1 = false;
  int receive_buffer_bytes = 0;  ///< 0: the system's choice
};

class RawTlsClient {
 public:
  static Result<RawTlsClient> connect(std::uint16_t port, const RawTlsOptions& options);
  RawTlsClient(RawTlsClient&&) noexcept;
  RawTlsClient& operator=(RawTlsClient&&) noexcept;
  ~RawTlsClient();

  Status write(std::string_view bytes);
  /// At least one byte, or nothing when the server ended the connection.
  Result<std::string> read_some();
  /// Until the marker was received; returns all bytes so far and keeps none.
  Result<std::string> read_until(std::string_view marker);
  /// Until the server ends the connection.
  std::string read_to_end();
  /// Whether anything can be read within the time.
  bool readable_within(std::chrono::milliseconds time);
  /// The protocol agreed on by ALPN.
  std::string alpn() const;

 private:
  struct Impl;
  explicit RawTlsClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// A TCP connection to 127.0.0.1 that says nothing; returns once the other side closed it.
Status connect_and_wait_for_close(std::uint16_t port);

/// Whether something listens on the port of 127.0.0.1.
bool port_is_open(std::uint16_t port);

}  // namespace strake::net::testing
