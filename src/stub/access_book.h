// AccessBook: who may ask the config server, as it stands in one Secret of the cluster.
//
//   Secret openshift-machine-config-operator/strake-config-server-access
//     mode            open | require
//     tokens          JSON, gzipped when it is long: {"tokens": [{"id", "pool", "sha256", "created", "expires",
//     "maxUses",
//                     "revoked", "comment"}]}: hashes, no tokens
//     client-ca.crt   PEM: who signs client certificates; may be absent
//
// A book is never changed: the next one takes its place as a whole.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "kube/object.h"
#include "stub/token.h"

namespace strake::stub {

enum class AccessMode {
  kOpen,     ///< whoever reaches the port is served, and counted by what it showed
  kRequire,  ///< a token or a client certificate for the pool
};
inline constexpr std::string_view kAccessModeWords[] = {"open", "require"};
std::string_view to_string(AccessMode mode);
Result<AccessMode> parse_access_mode(std::string_view text);

inline constexpr std::size_t kMaxTokens = 20'000;

/// What a certificate's organization says to open a pool: this and the pool's name.
inline constexpr std::string_view kPoolOrganization = "strake:pool:";

class AccessBook {
 public:
  AccessBook() = default;
  AccessBook(AccessMode mode, std::vector<TokenRecord> tokens, std::string client_ca_pem);

  AccessMode mode() const { return mode_; }
  const std::vector<TokenRecord>& tokens() const { return tokens_; }
  const std::string& client_ca_pem() const { return client_ca_pem_; }
  /// Whether some token has a limit of uses that still matters.
  bool counts_uses() const { return counts_uses_; }

  /// nullptr when nobody knows it.
  const TokenRecord* find_by_hash(std::string_view sha256) const;
  const TokenRecord* find_by_id(std::string_view id) const;

 private:
  AccessMode mode_ = AccessMode::kOpen;
  std::vector<TokenRecord> tokens_;
  std::string client_ca_pem_;
  bool counts_uses_ = false;
  std::unordered_multimap<std::uint64_t, std::size_t> by_hash_;
};

/// What certificate of a client comes to, by its organizations.
Standing judge_organizations(const std::vector<std::string>& organizations, std::string_view pool);

/// The key of the Secret.
kube::ObjectKey access_key();
/// kCorrupt names the member and shows nothing of it. Twenty thousand tokens at most.
Result<AccessBook> read_access(const kube::Object& secret);
/// The members of `data` that hold the book: for a new Secret, or a patch of one that is there. kExhausted when there
/// are more tokens than a Secret holds.
Result<json::Value> access_data(const AccessBook& book);

/// Lines of `POOL TOKEN`, empty ones and those that begin with # apart: who may ask before there is a cluster. Errors
/// name the line and show nothing of it.
Result<AccessBook> read_token_file(std::string_view text);

/// A token that ended or was revoked is kept for this long, so that lists and refusals can say so.
inline constexpr std::chrono::hours kRememberEnded{30 * 24};

/// The book with one token more, without those that ended long ago.
AccessBook with_new_token(const AccessBook& book, const TokenRecord& record, std::chrono::sys_seconds now);
/// kNotFound when there is no such token. One that is revoked stays as it is.
Result<AccessBook> with_revoked(const AccessBook& book, std::string_view id, std::chrono::sys_seconds now);

}  // namespace strake::stub
