// Which client certificates were issued, to whom and by which authority: what can be listed, revoked, renewed, and who
// is left behind when an authority is retired.
//
// A credential keeps its id when it is renewed. Between a renewal and the next one the certificate before it still
// counts: the answer that brought the new one may have been lost.
#pragma once

#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "pki/authority.h"
#include "pki/private_files.h"

namespace strake::pki {

/// The certificate with its signer and the list of authorities its holder was given with it.
struct IssuedCertificate {
  std::string serial;
  WallTime expires;
  std::string signer;  ///< SHA-256 of the authority's certificate
  std::string trust;   ///< SHA-256 of the PEM list
};

struct IssuedCredential {
  std::string id;
  std::string user;
  std::vector<std::string> groups;
  std::string node;        ///< "" unless it is an agent's
  std::string join_token;  ///< id of the token it was made from, if any
  WallTime issued;
  std::optional<WallTime> renewed;
  IssuedCertificate current;
  std::optional<IssuedCertificate> previous;
  std::string revoked;  ///< why; "" while it counts

  bool counts_at(WallTime now) const { return revoked.empty() && now < current.expires; }
};

/// FILE, mode 0600: {"credentials": [...]}.
class IssuedCredentials {
 public:
  explicit IssuedCredentials(std::filesystem::path path) : path_(std::move(path)) {}

  /// Gives it an id. Those that ended long ago are dropped from the file on the way.
  Result<IssuedCredential> add(IssuedCredential credential, Random& random, WallTime now);
  /// Replaces the one with the same id; kNotFound when there is none.
  Status update(const IssuedCredential& credential);
  Result<std::vector<IssuedCredential>> list();
  /// Whose current or previous certificate this is.
  Result<std::optional<IssuedCredential>> by_serial(std::string_view serial);

 private:
  Status read_if_changed();
  Status write();

  const std::filesystem::path path_;
  std::mutex mutex_;
  std::vector<IssuedCredential> credentials_;
  std::optional<FileVersion> version_;
};

}  // namespace strake::pki
