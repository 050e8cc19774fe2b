// Who sends a request: the subject of a verified client certificate, or the owner of a bearer token.
//
// The common name is the user, the organizations are its groups. Tokens and revoked certificates are in files that may
// be changed while the server runs (src/pki). Nobody is anonymous.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "apistore/guard/connection_register.h"
#include "apistore/rules/authorization.h"
#include "base/result.h"
#include "net/http_server.h"
#include "pki/revocations.h"
#include "pki/tokens.h"

namespace strake::apistore::rest {

using pki::WallTime;

struct Identity {
  Caller caller;                    ///< in whose name the request is made
  std::optional<WallTime> expires;  ///< long answers must not outlive it
  Credential credential;
  Caller proven = {};  ///< whom the credential names: limits and the audit log go by it
};

/// What is asked about a request's proof; each may be null.
struct Credentials {
  pki::TokenFile* tokens = nullptr;
  pki::Revocations* revocations = nullptr;
};

/// nullopt when there is no Authorization field; "" when it is there without a token.
std::optional<std::string_view> bearer_token(const net::Headers& headers);

/// kUnauthenticated when the request does not prove who sends it.
Result<Identity> authenticate(const net::ServerRequest& request, const Credentials& credentials, WallTime now);

/// Whether a credential that counted once still does.
Result<bool> still_counts(const Credential& credential, const Credentials& credentials, WallTime now);

/// Administrators may act as somebody else (Impersonate-User, Impersonate-Group); others are refused.
Result<Caller> acting_caller(const Caller& caller, const net::Headers& headers);

}  // namespace strake::apistore::rest
