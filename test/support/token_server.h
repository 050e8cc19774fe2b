// A token server for registries: whoever knows the password may do everything, everybody else may pull. The registry
// verifies the tokens; they are signed with a certificate of the test's authority.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "net/http_server.h"
#include "support/pki.h"

namespace strake::test {

struct TokenServerOptions {
  std::string issuer;
  std::string user;
  std::string password;
  CertificateFiles server;  ///< of the server's own TLS
  CertificateFiles signer;  ///< signs the tokens
};

class TokenServer {
 public:
  static Result<std::unique_ptr<TokenServer>> start(TokenServerOptions options);

  /// By name: some clients refuse a realm on a loopback address.
  std::string realm() const;

 private:
  explicit TokenServer(net::HttpsServer server) : server_(std::move(server)) {}
  net::HttpsServer server_;
};

}  // namespace strake::test
