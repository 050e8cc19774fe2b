// The certificates of an embedded API server: its own authority, its server certificate, its administrator, and those
// it issues.
//
// Everything is under one folder of mode 0700, every file 0600. The authority is made once and never replaced: all
// clients trust it. The server's and the administrator's certificates are made again when they are near their end, when
// the server's names have changed, or when a file of the pair is missing.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "net/x509.h"

namespace strake::apistore::rest {

/// A certificate with its key, as PEM.
struct PemPair {
  std::string certificate;
  std::string key;
};

struct PkiOptions {
  std::filesystem::path directory;
  std::vector<std::string>
      server_names;  ///< host names and addresses clients may use; loopback and this host's name are added
  std::chrono::hours authority_lifetime{24 * 365 * 10};
  std::chrono::hours server_lifetime{24 * 365};
  std::chrono::hours admin_lifetime{24 * 365};
};

class Pki {
 public:
  /// Reads what is there and makes what is not. kCorrupt names the file of an authority that cannot be used.
  static Result<Pki> open(PkiOptions options, Random& random, std::chrono::system_clock::time_point now);

  const std::string& ca_pem() const { return ca_pem_; }
  const PemPair& server() const { return server_; }
  /// User strake:admin of group strake:admins.
  const PemPair& admin() const { return admin_; }

  /// A certificate for somebody else, such as an agent. Nothing of it is kept here.
  Result<PemPair> issue_client(const std::string& user, const std::vector<std::string>& groups,
                               std::chrono::hours lifetime, Random& random,
                               std::chrono::system_clock::time_point now) const;

  /// To be called now and then. True when the server's certificate is a new one.
  Result<bool> renew(Random& random, std::chrono::system_clock::time_point now);

 private:
  explicit Pki(PkiOptions options) : options_(std::move(options)) {}

  Status open_authority(Random& random, std::chrono::system_clock::time_point now);
  Result<PemPair> read_pair(const std::string& name) const;
  Status write_pair(const std::string& name, const PemPair& pair) const;
  Result<PemPair> issue(net::LeafRequest request, std::chrono::hours lifetime, Random& random,
                        std::chrono::system_clock::time_point now) const;
  bool still_good(const PemPair& pair, std::chrono::hours lifetime, net::CertificatePurpose purpose,
                  std::chrono::system_clock::time_point now) const;
  bool has_server_names(const PemPair& pair) const;

  PkiOptions options_;
  std::string ca_pem_;
  std::vector<net::Certificate> ca_;  ///< exactly one, once open
  std::optional<net::PrivateKey> ca_key_;
  PemPair server_;
  PemPair admin_;
};

}  // namespace strake::apistore::rest
