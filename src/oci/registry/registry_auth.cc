#include "oci/registry/registry_auth.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace strake::oci {

namespace {

constexpr std::chrono::seconds kShortCall{60};
constexpr std::chrono::seconds kShortIdle{30};
/// A token must not expire on its way.
constexpr std::chrono::seconds kTokenMargin{10};
/// How long a password is kept before the files and helpers are asked again: a helper is a program to be started.
constexpr std::chrono::minutes kPasswordLifetime{5};
constexpr std::size_t kMaxKeptTokens = 1024;
/// For the question whether a host speaks plain http at all.
constexpr std::chrono::seconds kProbe{5};

std::string token_key(const Scope& scope) { return fmt::format("{}", fmt::join(scope.to_strings(), " ")); }

}  // namespace

net::CallOptions call_options(runtime::Runtime& runtime, const runtime::Call& call, std::chrono::milliseconds total,
                              std::chrono::milliseconds idle) {
  net::CallOptions options;
  options.stop = call.stop;
  options.idle_timeout = idle;
  options.timeout = total;
  if (call.deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*call.deadline - runtime.now());
    // 0 would mean "no limit".
    options.timeout = std::clamp(left, std::chrono::milliseconds(1), total);
  }
  return options;
}

RegistryAuth::RegistryAuth(std::string registry, bool insecure, CredentialOptions credentials,
                           const net::HttpClient& direct, runtime::Runtime& runtime)
    : registry_(std::move(registry)),
      insecure_(insecure),
      credentials_(std::move(credentials)),
      direct_(direct),
      runtime_(runtime) {}

net::CallOptions RegistryAuth::short_call(const runtime::Call& call) {
  return call_options(runtime_, call, kShortCall, kShortIdle);
}

Result<RegistryAuth::Greeting> RegistryAuth::greet(const std::string& base_url, const runtime::Call& call) {
  net::Request request;
  request.url = base_url + "/v2/";
  STRAKE_TRY(const net::Response answer, direct_.send(request, short_call(call)));
  Greeting greeting{base_url, std::nullopt};
  if (answer.status == 200) return greeting;
  if (answer.status == 401) {
    STRAKE_TRY(greeting.challenge, choose_challenge(answer.headers));
    return greeting;
  }
  if (answer.status >= 400 && answer.status != 404) {
    return registry_error(answer, std::chrono::floor<std::chrono::seconds>(runtime_.wall_now()));
  }
  return error(Code::kUnsupported, "GET /v2/ was answered with {}: this is not a container registry", answer.status);
}

Result<RegistryAuth::Greeting> RegistryAuth::greeting(const runtime::Call& call) {
  {
    const std::scoped_lock lock(mutex_);
    if (greeting_) return *greeting_;
  }
  const std::string host = api_host(registry_);
  Result<Greeting> greeting = greet("https://" + host, call);
  if (!greeting.ok() && insecure_ &&
      (greeting.error().code() == Code::kUnavailable || greeting.error().code() == Code::kDenied)) {
    greeting = greet("http://" + host, call);
  }
  if (!greeting.ok()) {
    return explain_greeting(std::move(greeting).error(), host, call)
        .context(fmt::format("asking registry {} what it wants", registry_));
  }
  const std::scoped_lock lock(mutex_);
  greeting_ = *greeting;
  return greeting;
}

Error RegistryAuth::explain_greeting(Error failure, const std::string& host, const runtime::Call& call) {
  // Nothing but this question goes out unencrypted.
  if (insecure_ || failure.code() != Code::kUnavailable) return failure;
  net::Request request;
  request.url = fmt::format("http://{}/v2/", host);
  const Result<net::Response> answer = direct_.send(request, call_options(runtime_, call, kProbe, kProbe));
  if (!answer.ok() || (answer->status != 200 && answer->status != 401)) return failure;
  return error(Code::kUnsupported,
               "it speaks plain http only: give it a certificate, or mark it `insecure = true` in registries.conf "
               "(https: {})",
               failure.to_string());
}

void RegistryAuth::note_user(const std::optional<Credentials>& credentials) {
  const std::scoped_lock lock(mutex_);
  shown_user_.reset();
  if (credentials) shown_user_ = credentials->user;
}

std::string RegistryAuth::advice() const {
  const std::scoped_lock lock(mutex_);
  if (greeting_ && greeting_->base_url.starts_with("http://")) {
    return "no credentials are sent over plain http: give the registry a certificate";
  }
  if (!shown_user_) {
    return fmt::format("no credentials for {0} are known: `podman login {0}`, or name a file with --authfile",
                       registry_);
  }
  return fmt::format("user '{}' may not do this: `podman login {}` again, or name another file with --authfile",
                     *shown_user_, registry_);
}

Result<std::string> RegistryAuth::base_url(const runtime::Call& call) {
  STRAKE_TRY(const Greeting known, greeting(call));
  return known.base_url;
}

Result<Token> RegistryAuth::fetch_token(const Greeting& greeting, const Scope& scope, const runtime::Call& call) {
  const bool plain_http = greeting.base_url.starts_with("http://");
  STRAKE_TRY(const auto credentials, find_credentials(registry_, scope.repository, credentials_, call.stop));
  note_user(plain_http ? std::nullopt : credentials);
  STRAKE_TRY(const net::Request request,
             plan_token_request(*greeting.challenge, scope, plain_http ? std::nullopt : credentials, plain_http));
  STRAKE_TRY(const net::Response answer, direct_.send(request, short_call(call)));
  if (answer.status == 401 || answer.status == 403) {
    return error(net::code_for_status(answer.status), "the token server refused {}: {}",
                 credentials ? fmt::format("user '{}'", credentials->user) : "anonymous access", advice());
  }
  if (answer.status >= 400) {
    return registry_error(answer, std::chrono::floor<std::chrono::seconds>(runtime_.wall_now()));
  }
  if (answer.status != 200) return error(Code::kCorrupt, "the token server answered {}", answer.status);
  return parse_token(answer.body);
}

Result<std::string> RegistryAuth::authorization(const Scope& scope, const runtime::Call& call) {
  STRAKE_TRY(const Greeting known, greeting(call));
  if (!known.challenge) return std::string();
  const std::string key = token_key(scope);
  {
    const std::scoped_lock lock(mutex_);
    const auto kept = kept_.find(key);
    if (kept != kept_.end() && runtime_.now() < kept->second.until) return kept->second.authorization;
  }
  Kept fresh;
  if (known.challenge->scheme == "basic") {
    STRAKE_TRY(fresh.authorization, basic_proof(known, scope, call));
    fresh.until = runtime_.now() + kPasswordLifetime;
  } else {
    STRAKE_TRY_CONTEXT(const Token token, fetch_token(known, scope, call), "getting a token for {} of registry {}", key,
                       registry_);
    fresh = {"Bearer " + token.value, runtime_.now() + token.lifetime - kTokenMargin};
  }
  const std::scoped_lock lock(mutex_);
  if (kept_.size() >= kMaxKeptTokens) kept_.clear();
  kept_.insert_or_assign(key, fresh);
  return fresh.authorization;
}

/// Empty when nothing is known, or when who listens on the way would have the password.
Result<std::string> RegistryAuth::basic_proof(const Greeting& greeting, const Scope& scope, const runtime::Call& call) {
  if (greeting.base_url.starts_with("http://")) return std::string();
  STRAKE_TRY(const auto credentials, find_credentials(registry_, scope.repository, credentials_, call.stop));
  note_user(credentials);
  return credentials ? basic_authorization(*credentials) : std::string();
}

void RegistryAuth::forget_token(const Scope& scope) {
  const std::scoped_lock lock(mutex_);
  kept_.erase(token_key(scope));
}

}  // namespace strake::oci
