// Who sends a request: the subject of a verified client certificate, or the owner of a bearer token.
//
// The common name is the user, the organizations are its groups. Tokens are kept hashed in a file that may be changed
// while the server runs; whoever reads that file cannot log in with it. Nobody is anonymous.
#pragma once

#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "apistore/rules/authorization.h"
#include "base/random.h"
#include "base/result.h"
#include "net/http_server.h"

namespace strake::apistore::rest {

using WallTime = std::chrono::system_clock::time_point;

struct Identity {
  Caller caller;
  std::optional<WallTime> expires;  ///< long answers must not outlive it
};

struct TokenOwner {
  std::string user;
  std::vector<std::string> groups;
  std::optional<WallTime> expires;
};

/// STATE/tokens.json, mode 0600: {"tokens": [{"id", "sha256", "user", "groups", "expires"}]}.
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

  /// nullopt when nobody owns it, or not any more. The time this takes says nothing about the tokens in the file.
  Result<std::optional<TokenOwner>> owner_of(std::string_view secret, WallTime now);

 private:
  struct Entry {
    std::string id;
    std::string sha256;
    TokenOwner owner;
  };
  /// What tells one version of the file from another.
  struct Stamp {
    std::filesystem::file_time_type written;
    std::uintmax_t size_bytes = 0;
    bool operator==(const Stamp&) const = default;
  };
  Status read_if_changed();
  Status write();

  const std::filesystem::path path_;
  std::mutex mutex_;
  std::vector<Entry> entries_;
  std::optional<Stamp> stamp_;
};

/// kUnauthenticated when the request does not prove who sends it. `tokens` may be null.
Result<Identity> authenticate(const net::ServerRequest& request, TokenFile* tokens, WallTime now);

/// Administrators may act as somebody else (Impersonate-User, Impersonate-Group); others are refused.
Result<Caller> acting_caller(const Caller& caller, const net::Headers& headers);

/// Takes the same time wherever the texts differ.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace strake::apistore::rest
