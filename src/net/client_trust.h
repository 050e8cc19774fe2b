// Which certificate authorities a client trusts. Private to this module.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"

struct x509_store_st;

namespace strake::net {

/// Authorities in the form in which OpenSSL verifies with them. Parsing the long list of a machine's roots costs more
/// than a handshake, so it is done once, and every connection of every client shares the result.
class ClientTrust {
 public:
  ClientTrust() = default;
  explicit ClientTrust(std::shared_ptr<x509_store_st> store, std::string pinned_sha256 = "")
      : store_(std::move(store)), pinned_sha256_(std::move(pinned_sha256)) {}

  /// Makes a TLS context (an SSL_CTX) verify with these authorities and no others. With a pinned one this object must
  /// outlive the context.
  void install(void* tls_context) const;

 private:
  std::shared_ptr<x509_store_st> store_;
  std::string pinned_sha256_;
};

/// One authority, known by the fingerprint of its certificate only: the server must show it behind its own.
Result<ClientTrust> pinned_client_trust(const std::string& sha256);

/// The authorities of `ca_pem` and `ca_file`; the machine's roots when both are empty, or besides them when asked.
Result<ClientTrust> resolve_client_trust(const std::string& ca_pem, const std::filesystem::path& ca_file,
                                         bool also_system_roots);

}  // namespace strake::net
