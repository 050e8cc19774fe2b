// The server's side of TLS: its context, and who the client proved to be. Private to this module.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "net/http_server.h"
#include "net/x509.h"

struct ssl_ctx_st;
struct ssl_st;

namespace strake::net {

/// Shared by the connections accepted while it was current.
struct ServerTls {
  std::shared_ptr<ssl_ctx_st> context;
  std::vector<Certificate> client_roots;  ///< empty: clients are not asked
  bool plain = false;                     ///< the bytes go as they are
};

struct ServerIdentity {
  std::string certificate_pem;  ///< with its chain
  std::string key_pem;
  std::string client_ca_pem;  ///< empty: clients are not asked for a certificate
};

Result<std::shared_ptr<const ServerTls>> make_server_tls(const ServerIdentity& identity, const TlsPolicy& policy);

Result<std::shared_ptr<const ServerTls>> make_plain();

struct PeerIdentity {
  std::optional<PeerCertificate> certificate;
  std::string problem;
};

/// After the handshake, in which the client proved that it holds the key of the certificate it showed.
PeerIdentity identify_peer(const ServerTls& tls, const ssl_st* connection, std::chrono::sys_seconds now);

}  // namespace strake::net
