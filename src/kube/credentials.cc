#include "kube/credentials.h"

#include <algorithm>

#include "base/fd.h"

namespace strake::kube {

namespace {

constexpr std::chrono::seconds kTokenFileInterval{60};
constexpr std::chrono::seconds kKubeconfigInterval{60};
constexpr std::size_t kMaxKubeconfigAgainBytes = 4u << 20;
constexpr std::chrono::seconds kExpiryMargin{30};
constexpr std::size_t kMaxTokenFileBytes = 64u << 10;

}  // namespace

bool Credentials::same_as(const Credentials& other) const {
  return bearer_token == other.bearer_token && client_cert_pem == other.client_cert_pem &&
         client_key_pem == other.client_key_pem && username == other.username && password == other.password &&
         ca_pem == other.ca_pem;
}

CredentialSource::CredentialSource(runtime::Runtime& runtime, ClusterAccess access, ExecOptions exec)
    : runtime_(runtime), access_(std::move(access)), exec_(std::move(exec)), fetched_(runtime) {}

Result<Credentials> CredentialSource::current(const runtime::Call& call) {
  {
    std::unique_lock lock(mutex_);
    const runtime::Wake wake = fetched_.wait(lock, call, [this] { return !fetching_; });
    if (wake != runtime::Wake::kReady) return wake_error(wake, "credentials");
    if (credentials_ && (!fresh_until_ || runtime_.now() < *fresh_until_)) return *credentials_;
    fetching_ = true;
  }
  std::optional<runtime::TimePoint> fresh_until;
  Result<Credentials> fetched = fetch(call.stop, fresh_until);
  {
    std::lock_guard lock(mutex_);
    fetching_ = false;
    if (fetched.ok()) {
      const std::uint64_t before = credentials_ ? credentials_->generation : 0;
      fetched->generation = credentials_ && credentials_->same_as(*fetched) ? before : before + 1;
      credentials_ = *fetched;
      fresh_until_ = fresh_until;
    } else if (credentials_ && !access_.exec && fetched.error().code() != Code::kCancelled) {
      // A token file that is being replaced may be missing for a moment; the token we have is likely still good.
      fresh_until_ = runtime_.now() + kTokenFileInterval;
      fetched = *credentials_;
    }
  }
  fetched_.notify_all();
  return fetched;
}

Result<Credentials> CredentialSource::fetch(std::stop_token stop, std::optional<runtime::TimePoint>& fresh_until) {
  Credentials credentials{access_.bearer_token,
                          access_.client_cert_pem,
                          access_.client_key_pem,
                          access_.username,
                          access_.password,
                          access_.ca_pem,
                          0};
  if (!access_.kubeconfig_file.empty()) {
    // The first time what was read from it a moment ago is good.
    if (credentials_) {
      credentials = *credentials_;
      STRAKE_CHECK_OK(read_kubeconfig_again(credentials));
    }
    fresh_until = runtime_.now() + kKubeconfigInterval;
  }
  if (!access_.token_file.empty()) {
    STRAKE_TRY_CONTEXT(std::string token, read_file(access_.token_file, kMaxTokenFileBytes), "reading the token");
    token.erase(token.find_last_not_of(" \t\r\n") + 1);
    if (token.empty()) return error(Code::kUnauthenticated, "the token file {} is empty", access_.token_file.string());
    credentials.bearer_token = std::move(token);
    fresh_until = runtime_.now() + kTokenFileInterval;
  }
  if (access_.exec) {
    STRAKE_TRY(ExecCredential answer, run_exec_plugin(access_, exec_, std::move(stop)));
    credentials.bearer_token = std::move(answer.token);
    if (!answer.client_cert_pem.empty()) {
      credentials.client_cert_pem = std::move(answer.client_cert_pem);
      credentials.client_key_pem = std::move(answer.client_key_pem);
    }
    if (answer.expires) {
      // Not at the last moment, but a plugin whose answers live shorter than the margin must not run for every call.
      const auto left = std::chrono::duration_cast<runtime::Duration>(*answer.expires - runtime_.wall_now());
      const auto margin = std::min<runtime::Duration>(kExpiryMargin, left / 2);
      fresh_until = runtime_.now() + std::max<runtime::Duration>(left - margin, std::chrono::seconds(1));
    }
  }
  return credentials;
}

Status CredentialSource::read_kubeconfig_again(Credentials& credentials) const {
  STRAKE_TRY(const std::string text, read_file(access_.kubeconfig_file, kMaxKubeconfigAgainBytes));
  STRAKE_TRY(const Kubeconfig config, parse_kubeconfig(text, access_.kubeconfig_file));
  AccessOverrides same_context;
  same_context.context = access_.context;
  STRAKE_TRY(const ClusterAccess now, resolve_access(config, same_context));
  // Credentials belong to one server: a file that has come to name another is not followed.
  if (now.server != access_.server || now.client_cert_pem.empty()) return {};
  credentials.client_cert_pem = now.client_cert_pem;
  credentials.client_key_pem = now.client_key_pem;
  credentials.ca_pem = now.ca_pem;
  return {};
}

bool CredentialSource::can_change() const {
  return access_.exec || !access_.token_file.empty() || !access_.kubeconfig_file.empty();
}

bool CredentialSource::refused(const Credentials& credentials) {
  if (!can_change()) return false;
  std::lock_guard lock(mutex_);
  if (!credentials_ || credentials_->generation != credentials.generation) return true;  // others are there already
  // Twice for the same credentials means that the source has no better ones.
  if (last_refused_ == credentials.generation) return false;
  last_refused_ = credentials.generation;
  fresh_until_ = runtime_.now();
  return true;
}

}  // namespace strake::kube
