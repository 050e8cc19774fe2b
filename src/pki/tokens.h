// Bearer tokens: hashed in a file, with an owner, an end and a use they are bound to. Whoever reads the file cannot log
// in with it.
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

/// Takes the same time wherever the texts differ.
bool equal_in_constant_time(std::string_view a, std::string_view b);

/// 256 random bits behind a prefix by which people and scanners recognise what leaked.
std::string new_token_secret(Random& random, std::string_view prefix);

/// What a token is for. One for something else does not exist there.
inline constexpr std::string_view kApiPurpose = "api";
/// To be turned into a certificate, by one key.
inline constexpr std::string_view kJoinPurpose = "join";

/// Where a token is presented, and what it is bound to.
struct TokenUse {
  std::string purpose = std::string(kApiPurpose);
  std::string node;  ///< "": not bound to one; a bound token counts for its node only
};

struct TokenOwner {
  std::string user;
  std::vector<std::string> groups;
  std::optional<WallTime> expires;
  TokenUse bound = {};
  std::string node_role = {};  ///< of the Node that is made when a join token is used
  std::string trust = {};      ///< SHA-256 of the authorities it was handed out with (Authority::trust_sha256)
};

/// A token as it can be shown: everything but itself.
struct TokenRecord {
  std::string id;
  TokenOwner owner;
  std::optional<WallTime> issued;  ///< absent in files of earlier versions
  std::string used_by_key;  ///< of a join token: SHA-256 of the public key it was used for; "" while it is unused
  std::optional<WallTime> used;
};

/// FILE, mode 0600: {"tokens": [{"id", "sha256", "user", "groups", "issued", "expires", "purpose", "node", "nodeRole",
/// "trust", "usedByKey", "used"}]}. It may be changed by another process at any time.
class TokenFile {
 public:
  explicit TokenFile(std::filesystem::path path) : path_(std::move(path)) {}

  struct Issued {
    std::string id;      ///< names the token in `revoke`; no secret
    std::string secret;  ///< shown once, kept nowhere
  };
  /// Expired tokens are dropped from the file on the way.
  Result<Issued> issue(Random& random, const TokenOwner& owner, WallTime now);
  /// kNotFound when there is no such token.
  Status revoke(const std::string& id);

  /// Whether the token with this SHA-256 still counts, for whatever use: for answers that outlive their request.
  Result<bool> still_counts(std::string_view sha256, WallTime now);

  /// nullopt when nobody owns it, not any more, or not for this use. The time this takes says nothing about the tokens
  /// in the file.
  Result<std::optional<TokenOwner>> owner_of(std::string_view secret, const TokenUse& use, WallTime now);

  /// The same for a token that itself says which node it is for.
  Result<std::optional<TokenRecord>> find(std::string_view secret, std::string_view purpose, WallTime now);
  /// A token is used once, by one key; the same key may come again, since the answer may have been lost. kConflict when
  /// another key came first, kNotFound when there is no such token any more.
  Status use(const std::string& id, const std::string& key_sha256, WallTime now);
  /// In the order in which they were issued.
  Result<std::vector<TokenRecord>> list();

 private:
  struct Entry {
    std::string sha256;
    TokenRecord record;
  };
  template <typename Counts>
  Result<std::optional<TokenRecord>> search(std::string_view secret, WallTime now, Counts counts);
  Status read_if_changed();
  Status write();

  const std::filesystem::path path_;
  std::mutex mutex_;
  std::vector<Entry> entries_;
  std::optional<FileVersion> version_;
};

}  // namespace strake::pki
