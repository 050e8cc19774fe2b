// RegistryAuth: how one registry wants to be spoken to, and the tokens it gave us. Private to this module.
//
// The registry is asked once, at its own address, what it wants (GET /v2/). Only that answer decides where credentials
// go: an answer met after a redirect never does. What was shown once is kept for each scope: a token until shortly
// before it expires, a password for some minutes.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/runtime.h"
#include "net/http_client.h"
#include "oci/registry/registry_protocol.h"

namespace strake::oci {

class RegistryAuth {
 public:
  /// `direct` follows no redirects. `insecure`: plain http is tried when https does not answer.
  RegistryAuth(std::string registry, bool insecure, CredentialOptions credentials, const net::HttpClient& direct,
               runtime::Runtime& runtime);

  /// "https://host:port", once it is known to answer.
  Result<std::string> base_url(const runtime::Call& call);
  /// The value of the Authorization field for a request; empty: none.
  Result<std::string> authorization(const Scope& scope, const runtime::Call& call);
  /// What to do about an answer of 401 or 403, depending on who we said we were.
  std::string advice() const;
  /// The registry did not accept what authorization() gave.
  void forget_token(const Scope& scope);

 private:
  struct Greeting {
    std::string base_url;
    std::optional<Challenge> challenge;  ///< absent: the registry asks for nothing
  };
  struct Kept {
    std::string authorization;
    runtime::TimePoint until;
  };

  Result<Greeting> greeting(const runtime::Call& call);
  Result<Greeting> greet(const std::string& base_url, const runtime::Call& call);
  Result<Token> fetch_token(const Greeting& greeting, const Scope& scope, const runtime::Call& call);
  Result<std::string> basic_proof(const Greeting& greeting, const Scope& scope, const runtime::Call& call);
  void note_user(const std::optional<Credentials>& credentials);
  /// Why https fails, where plain http is all the host speaks.
  Error explain_greeting(Error failure, const std::string& host, const runtime::Call& call);
  net::CallOptions short_call(const runtime::Call& call);

  const std::string registry_;
  const bool insecure_;
  const CredentialOptions credentials_;
  const net::HttpClient& direct_;
  runtime::Runtime& runtime_;

  mutable std::mutex mutex_;
  std::optional<std::string> shown_user_;  ///< whose password or token was sent last
  std::optional<Greeting> greeting_;
  std::map<std::string, Kept> kept_;  ///< by scope
};

/// The time limits of a request: the caller's, and our own.
net::CallOptions call_options(runtime::Runtime& runtime, const runtime::Call& call, std::chrono::milliseconds total,
                              std::chrono::milliseconds idle);

}  // namespace strake::oci
