// A loopback HTTPS server with a certificate of a test authority, and clients that trust it.
#pragma once

#include <string>

#include "net/http_client.h"
#include "net/http_server.h"
#include "net/testing/raw_tls_client.h"
#include "net/testing/test_authority.h"

namespace strake::net::testing {

class TestServer {
 public:
  /// `options` needs neither address nor certificate; a client CA of "self" stands for the server's own authority.
  explicit TestServer(Handler handler, ServerOptions options = {});

  TestAuthority& authority() { return authority_; }
  HttpsServer& server() { return server_; }
  std::string url(const std::string& path) const;

  /// Direct, whatever the environment says.
  ClientOptions client_options() const;
  HttpClient client() const { return client(client_options()); }
  static HttpClient client(ClientOptions options);
  RawTlsClient raw_client(const TestIdentity& identity = {}) const;

 private:
  TestAuthority authority_;
  HttpsServer server_;
};

}  // namespace strake::net::testing
