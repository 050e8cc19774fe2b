// A certificate authority in a folder: it issues certificates, signs requests, and hands over to a successor.
//
//   DIRECTORY/ca.crt           all trusted certificates; the first one signs
//   DIRECTORY/ca.key           the key of the first authority
//   DIRECTORY/ca-SERIAL.key    the key of one that came later
//
// The folder has mode 0700, every file 0600. An authority that cannot be used is never replaced by itself: all clients
// trust it. It is rotated in three steps, between which the clients must be given the new `trusted_pem()`:
//
//   add_successor        the new one is trusted, the old one signs: give everybody the longer list
//   promote_successor    the new one signs, the old one is trusted: let everybody renew
//   retire_predecessors  only the new one is trusted
//
// Each step is one atomic write of ca.crt; killed halfway, it has happened or it has not. A process that serves with
// the list takes the step itself, or must be started again to see it.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "net/x509.h"
#include "pki/private_files.h"

namespace strake::pki {

using WallTime = std::chrono::system_clock::time_point;

struct AuthorityOptions {
  std::filesystem::path directory;
  std::string common_name = "strake";
  std::chrono::hours lifetime{24 * 365 * 10};
};

/// Whom a certificate is for.
struct Subject {
  std::string common_name;
  std::vector<std::string> organizations = {};
  std::vector<std::string> hosts = {};  ///< names and addresses of a server
  bool server = false;
  bool client = false;

  /// The user of a Kubernetes API and its groups.
  static Subject user(std::string name, std::vector<std::string> groups);
  static Subject host(std::string name, std::vector<std::string> hosts);
};

/// How far a rotation is.
enum class Rotation {
  kSettled,    ///< one authority
  kAnnounced,  ///< a successor is trusted, and does not sign yet
  kSigning,    ///< the successor signs, its predecessor is still trusted
};
std::string_view to_string(Rotation rotation);

class Authority {
 public:
  /// Certificates begin this long before they are made, for clients whose clocks are a little behind.
  static constexpr std::chrono::minutes kClockSkew{5};

  /// Reads the authority, or makes it when there is none. kCorrupt names the file of one that cannot be used.
  static Result<Authority> open(AuthorityOptions options, Random& random, WallTime now);

  /// What clients and servers must trust.
  std::string trusted_pem() const { return net::to_pem(trusted_); }
  const std::vector<net::Certificate>& trusted() const { return trusted_; }
  const net::Certificate& signer() const { return trusted_.front(); }
  const std::filesystem::path& directory() const { return options_.directory; }
  Rotation rotation() const;
  /// SHA-256 of trusted_pem(): who holds this list needs no other.
  std::string trust_sha256() const;
  /// The youngest of the trusted ones.
  const net::Certificate& newest() const { return rotation() == Rotation::kAnnounced ? trusted_[1] : trusted_[0]; }

  /// With a new key. Nothing of it is kept here. Its life ends with the signer's at the latest.
  Result<PemPair> issue(const Subject& subject, std::chrono::hours lifetime, Random& random, WallTime now) const;
  /// The certificate, as PEM. Of the request only its key counts, which it proves to own; whom it is for is decided by
  /// the caller.
  Result<std::string> sign(const net::CertificateRequest& request, const Subject& subject, std::chrono::hours lifetime,
                           Random& random, WallTime now) const;

  /// kExists when one waits already.
  Status add_successor(Random& random, WallTime now);
  /// kNotFound when there is none.
  Status promote_successor();
  /// kConflict while a successor waits to be promoted.
  Status retire_predecessors();

 private:
  explicit Authority(AuthorityOptions options) : options_(std::move(options)) {}

  Status create(Random& random, WallTime now);
  Status load(WallTime now);
  Result<net::PrivateKey> key_of(const net::Certificate& certificate) const;
  std::filesystem::path later_key_file(const net::Certificate& certificate) const;
  Result<net::Certificate> make(const net::PrivateKey& key, Random& random, WallTime now) const;
  net::LeafRequest leaf(const Subject& subject, std::chrono::hours lifetime, Random& random, WallTime now) const;
  Status keep(std::vector<net::Certificate> trusted);

  AuthorityOptions options_;
  std::vector<net::Certificate> trusted_;    ///< at least one, once open
  std::vector<net::PrivateKey> signer_key_;  ///< exactly one, once open
};

}  // namespace strake::pki
