#include "controlplane/enrolment.h"

#include "base/fd.h"
#include "base/private_folder.h"
#include "base/time.h"
#include "codec/json.h"
#include "kube/kubeconfig.h"

namespace strake::controlplane {

namespace {

constexpr std::size_t kMaxKeyBytes = 64u << 10;
constexpr std::size_t kMaxKubeconfigBytes = 4u << 20;
constexpr const char* kJoinKeyFile = "join.key";

std::string field_of(const json::Value& answer, std::string_view name) {
  return json::find_string(answer, {name}).value_or("");
}

/// What the server signed for a key, checked before it is used.
struct SignedKey {
  std::string certificate_pem;
  std::string trusted_pem;
};

Result<SignedKey> read_signed(const json::Value& answer, const net::PrivateKey& key) {
  SignedKey result{field_of(answer, "certificate"), field_of(answer, "certificateAuthority")};
  STRAKE_TRY_CONTEXT(const net::Certificate certificate, net::Certificate::from_pem(result.certificate_pem),
                     "the certificate in the answer");
  STRAKE_CHECK_OK(net::check_key_matches(certificate, key).context("the certificate in the answer"));
  STRAKE_TRY_CONTEXT(const auto trusted, net::parse_bundle(result.trusted_pem), "the authorities in the answer");
  return result;
}

Status write_access(const std::filesystem::path& file, const kube::ClusterAccess& access) {
  STRAKE_TRY(const std::string text, kube::write_kubeconfig(kube::kubeconfig_for("strake", access)));
  return write_file_atomic(file, text, 0600);
}

/// The key of a join that was begun before, or a new one that is on disk before anybody is asked to sign for it.
Result<net::PrivateKey> join_key(const std::filesystem::path& file) {
  const auto kept = read_file(file, kMaxKeyBytes);
  if (kept.ok()) return net::PrivateKey::from_pem(*kept).context("{}", file.string());
  if (kept.error().code() != Code::kNotFound) return kept.error();
  STRAKE_TRY(net::PrivateKey key, net::PrivateKey::generate());
  STRAKE_CHECK_OK(write_file_atomic(file, key.to_pem(), 0600));
  return key;
}

Error explained(Error failure, const JoinOptions& options) {
  if (failure.code() == Code::kExists) return std::move(failure).with_verdict(Verdict::kBlocked);
  if (failure.code() == Code::kNotFound) {
    return std::move(failure).context(
        fmt::format("{} does not let machines join; it is no API server of `strake up`", options.server));
  }
  if (failure.code() == Code::kDenied && !options.ca_sha256.empty()) {
    return std::move(failure).context(
        fmt::format("{} does not prove to be the server with the authority sha256:{}: it is another one, or its "
                    "authority was rotated since the join token was made",
                    options.server, options.ca_sha256));
  }
  return failure;
}

}  // namespace

std::filesystem::path agent_folder(const std::filesystem::path& root) { return root / "var/lib/strake/agent"; }
std::filesystem::path agent_kubeconfig(const std::filesystem::path& root) { return agent_folder(root) / "kubeconfig"; }

std::vector<std::string> access_path(std::string_view what) { return {"strake", "v1", "access", std::string(what)}; }

Result<Joined> join_machine(runtime::Runtime& runtime, const JoinOptions& options, const runtime::Call& call) {
  const std::filesystem::path folder = agent_folder(options.root), file = agent_kubeconfig(options.root);
  std::error_code failure;
  std::filesystem::create_directories(folder.parent_path(), failure);
  if (failure) return errno_error(failure.value(), folder.parent_path().string());
  STRAKE_CHECK_OK(claim_private_folder(folder));
  if (std::filesystem::exists(file, failure)) {
    return error(Code::kExists,
                 "this machine has joined already: {}; start it with `strake agent`, or remove the file "
                 "to join again, with a new token",
                 file.string())
        .with_verdict(Verdict::kBlocked);
  }
  STRAKE_TRY(const net::PrivateKey key, join_key(folder / kJoinKeyFile));
  STRAKE_TRY(const net::CertificateRequest request, net::CertificateRequest::make(key, "agent", {}));
  kube::ClusterAccess access;
  access.server = options.server;
  access.ca_pem = options.ca_pem;
  access.ca_sha256 = options.ca_sha256;
  access.bearer_token = options.token;
  STRAKE_TRY(const auto api, kube::HttpsApi::create(runtime, access));
  auto answer = api->post_raw(access_path("join"), json::Object{{"request", request.to_pem()}}, call);
  if (!answer.ok()) return explained(std::move(answer).error(), options);
  STRAKE_TRY(const SignedKey made, read_signed(*answer, key));

  access = {};
  access.server = options.server;
  access.ca_pem = made.trusted_pem;
  access.client_cert_pem = made.certificate_pem;
  access.client_key_pem = key.to_pem();
  STRAKE_CHECK_OK(write_access(file, access));
  std::filesystem::remove(folder / kJoinKeyFile, failure);  // what is left would only be used to repeat this
  return Joined{field_of(*answer, "node"), file, field_of(*answer, "expires")};
}

Result<std::optional<Authorities>> read_authorities(kube::HttpsApi& api, const runtime::Call& call) {
  auto answer = api.get_raw(access_path("authority"), call);
  if (!answer.ok()) {
    const Code code = answer.error().code();
    const bool forbidden = code == Code::kDenied && answer.error().reason() == "Forbidden";
    if (code == Code::kNotFound || forbidden) return std::optional<Authorities>();
    return std::move(answer).error().context("asking for the authorities");
  }
  Authorities authorities;
  authorities.trusted_pem = field_of(*answer, "certificateAuthority");
  STRAKE_TRY_CONTEXT(authorities.trusted, net::parse_bundle(authorities.trusted_pem), "the authorities in the answer");
  return std::optional(std::move(authorities));
}

RenewalReason renewal_due(const net::Certificate& certificate, std::string_view trusted_pem,
                          const std::optional<Authorities>& authorities, runtime::WallTime now) {
  const net::CertificateInfo& info = certificate.info();
  const auto at = std::chrono::floor<std::chrono::seconds>(now);
  if (info.not_after - at < (info.not_after - info.not_before) / 3) return RenewalReason::kSoonOver;
  if (!authorities) return RenewalReason::kNone;
  if (authorities->trusted_pem != trusted_pem) return RenewalReason::kNewAuthorities;
  const bool by_signer =
      net::verify_chain(certificate, {}, {&authorities->trusted.front(), 1}, at, net::CertificatePurpose::kClient).ok();
  return by_signer ? RenewalReason::kNone : RenewalReason::kNewSigner;
}

Result<std::optional<Renewal>> renew_kubeconfig(runtime::Runtime& runtime, const std::filesystem::path& file,
                                                const runtime::Call& call) {
  STRAKE_TRY(const std::string text, read_file(file, kMaxKubeconfigBytes));
  STRAKE_TRY(kube::Kubeconfig config, kube::parse_kubeconfig(text, file));
  STRAKE_TRY(const kube::ClusterAccess access, kube::resolve_access(config));
  if (access.client_cert_pem.empty()) return std::optional<Renewal>();
  STRAKE_TRY_CONTEXT(const net::Certificate certificate, net::Certificate::from_pem(access.client_cert_pem),
                     "{}: client-certificate", file.string());
  Renewal renewal{false, certificate.info().common_name, certificate.info().not_after};
  STRAKE_TRY(const auto api, kube::HttpsApi::create(runtime, access));
  const auto authorities = read_authorities(*api, call);
  const bool nobody_answers = !authorities.ok();
  const RenewalReason due =
      renewal_due(certificate, access.ca_pem, nobody_answers ? std::nullopt : *authorities, runtime.wall_now());
  if (due == RenewalReason::kNone) {
    if (nobody_answers) return authorities.error();
    return std::optional(renewal);
  }
  if (nobody_answers) return authorities.error();
  if (!*authorities) {
    return error(Code::kUnsupported,
                 "the certificate in {} ends at {} and this API server does not renew it: issue a new one with `strake "
                 "access issue certificate`",
                 file.string(), format_rfc3339(renewal.expires));
  }
  STRAKE_TRY(const net::PrivateKey key, net::PrivateKey::generate());
  STRAKE_TRY(const net::CertificateRequest request, net::CertificateRequest::make(key, renewal.user, {}));
  STRAKE_TRY(const json::Value answer,
             api->post_raw(access_path("renewals"), json::Object{{"request", request.to_pem()}}, call));
  STRAKE_TRY(const SignedKey made, read_signed(answer, key));
  const kube::KubeconfigContext& context = config.contexts[access.context];
  kube::KubeconfigCluster& cluster = config.clusters[context.cluster];
  cluster.ca_pem = made.trusted_pem;
  cluster.ca_file.clear();
  kube::KubeconfigUser& user = config.users[context.user];
  user.client_certificate_pem = made.certificate_pem;
  user.client_certificate_file.clear();
  user.client_key_pem = key.to_pem();
  user.client_key_file.clear();
  STRAKE_TRY(const std::string renewed, kube::write_kubeconfig(config));
  STRAKE_CHECK_OK(write_file_atomic(file, renewed, 0600));
  STRAKE_TRY(const net::Certificate fresh, net::Certificate::from_pem(made.certificate_pem));
  renewal.renewed = true;
  renewal.expires = fresh.info().not_after;
  return std::optional(renewal);
}

}  // namespace strake::controlplane
