#include "api/roles.h"
#include "base/fd.h"
#include "base/time.h"
#include "cmd/cli/commands.h"
#include "cmd/input/access_input.h"
#include "cmd/input/text_input.h"
#include "cmd/output/shell_words.h"
#include "codec/base64.h"
#include "kube/kubeconfig.h"
#include "net/x509.h"

namespace strake::cmd {

namespace {

using namespace std::chrono_literals;

constexpr OptionSpec kRoleOption{"role", "ROLE", "administrator, viewer, config-viewer, agent or config-server", "",
                                 one_of(api::kRoleWords)};
constexpr OptionSpec kUserOption{"user", "NAME", "whom it is for; not of an agent"};
constexpr OptionSpec kAgentNodeOption{"node", "NAME", "the node, of an agent"};
constexpr OptionSpec kIssueTokenOptions[] = {
    kRoleOption,
    kUserOption,
    kAgentNodeOption,
    {"lifetime", "DURATION", "how long it counts, at most 8760h", "24h", kDurationValue},
    {"out", "FILE", "write a kubeconfig with the token here, for its owner only, and do not print the token", "",
     kFileValue},
    kKubeconfigOption,
    kContextOption,
    kTimeoutOption};
constexpr OptionSpec kIssueJoinTokenOptions[] = {
    {"node", "NAME", "name of the node the machine becomes"},
    {"node-role", "ROLE", "role label of the node: the pool it belongs to", "worker"},
    {"lifetime", "DURATION", "how long it can be used, at most 720h", "24h", kDurationValue},
    {"url", "URL", "how the machine reaches the API server (default: as your kubeconfig does)"},
    {"out", "FILE", "write the token here, for its owner only, and do not print it: for `--token-file`", "",
     kFileValue},
    kKubeconfigOption,
    kContextOption,
    kTimeoutOption};
constexpr OptionSpec kIssueCertificateOptions[] = {
    kRoleOption,
    kUserOption,
    kAgentNodeOption,
    {"csr", "FILE", "certificate request (PEM) to sign, `-` for standard input; the key stays where it was made", "",
     kFileValue},
    {"out", "FILE", "where the kubeconfig goes, or the certificate with --csr (default there: standard output)", "",
     kFileValue},
    {"lifetime", "DURATION", "at most 8760h (default: 720h; on Kubernetes, where nothing can be revoked, 24h)", "",
     kDurationValue},
    kKubeconfigOption,
    kContextOption,
    kTimeoutOption};

const kube::Resource kSigningRequest{"certificates.k8s.io", "v1", "CertificateSigningRequest",
                                     "certificatesigningrequests", false};
constexpr std::string_view kClientSigner = "kubernetes.io/kube-apiserver-client";
constexpr auto kSigningPause = 250ms;

Result<api::CredentialSubject> wanted_subject(const Invocation& invocation) {
  if (!invocation.has("role")) {
    return error(Code::kInvalidArgument, "--role is missing: {}", fmt::join(api::kRoleWords, ", "));
  }
  return api::credential_subject(invocation.choice<api::Role>("role"), invocation.value("user"),
                                 invocation.value("node"));
}

json::Object order_for(const api::CredentialSubject& subject) {
  json::Object order{{"role", api::to_string(subject.role)}};
  if (subject.role == api::Role::kAgent) {
    order["node"] = subject.node;
  } else {
    order["user"] = subject.user;
  }
  return order;
}

std::int64_t lifetime_seconds(const Invocation& invocation) {
  return std::chrono::floor<std::chrono::seconds>(invocation.duration("lifetime")).count();
}

Status write_out(const std::filesystem::path& file, std::string_view text) {
  return write_file_atomic(file, text, 0600).context("--out");
}

/// A kubeconfig for the same server, with these authorities and credentials.
Status write_credentials(const std::filesystem::path& file, const kube::ClusterAccess& by, kube::ClusterAccess given) {
  given.server = by.server;
  given.proxy_url = by.proxy_url;
  if (given.ca_pem.empty()) given.ca_pem = by.ca_pem;
  STRAKE_TRY(const std::string text, kube::write_kubeconfig(kube::kubeconfig_for("strake", given)));
  return write_out(file, text);
}

bool is_loopback(std::string_view server) {
  return server.find("//127.") != std::string_view::npos || server.find("//localhost") != std::string_view::npos ||
         server.find("//[::1]") != std::string_view::npos;
}

Result<int> run_issue_token(const Invocation& invocation) {
  STRAKE_TRY(const api::CredentialSubject subject, wanted_subject(invocation));
  const std::filesystem::path out = invocation.path("out");
  if (!out.empty()) STRAKE_CHECK_OK(check_can_be_made(out, "--out"));
  runtime::ThreadRuntime runtime;
  const kube::Call call = cluster_call(runtime, invocation);
  STRAKE_TRY(const AccessServer server, connect_access(runtime, invocation, call));
  if (!server.issues) {
    return kubernetes_has_its_own_way("has tokens for service accounts only",
                                      "use `kubectl create token`, or `strake access issue certificate`");
  }
  json::Object order = order_for(subject);
  order["lifetimeSeconds"] = lifetime_seconds(invocation);
  STRAKE_TRY(const json::Value answer, server.post("tokens", order, call));
  const std::string said = fmt::format("issued token {} for {}, good until {}", answer_text(answer, "id"),
                                       answer_text(answer, "user"), answer_text(answer, "expires"));
  if (out.empty()) {
    invocation.out().progress(said + "; it is shown this once:");
    invocation.out().document(answer_text(answer, "token") + "\n");
    return kExitOk;
  }
  kube::ClusterAccess given;
  given.ca_pem = answer_text(answer, "certificateAuthority");
  given.bearer_token = answer_text(answer, "token");
  STRAKE_CHECK_OK(write_credentials(out, server.api->access(), given));
  invocation.out().text(fmt::format("{}: {}\n", said, out.string()));
  return kExitOk;
}

Result<int> run_issue_join_token(const Invocation& invocation) {
  STRAKE_TRY(const api::CredentialSubject subject,
             api::credential_subject(api::Role::kAgent, "", invocation.value("node")));
  STRAKE_CHECK_OK(api::check_node_role(invocation.value("node-role")));
  if (invocation.has("url") && !invocation.value("url").starts_with("https://")) {
    return error(Code::kInvalidArgument, "--url: '{}' is no https URL; write it as https://HOST:7443",
                 invocation.value("url"));
  }
  const std::filesystem::path out = invocation.path("out");
  if (!out.empty()) STRAKE_CHECK_OK(check_can_be_made(out, "--out"));
  runtime::ThreadRuntime runtime;
  const kube::Call call = cluster_call(runtime, invocation);
  STRAKE_TRY(const AccessServer server, connect_access(runtime, invocation, call));
  if (!server.issues) {
    return kubernetes_has_its_own_way("lets machines join by its own means",
                                      "join the node to Kubernetes, then run the agent there (deploy/)");
  }
  json::Object order = order_for(subject);
  order["join"] = true;
  order["nodeRole"] = invocation.value("node-role");
  order["lifetimeSeconds"] = lifetime_seconds(invocation);
  auto answer = server.post("tokens", order, call);
  if (!answer.ok()) {
    if (answer.error().code() == Code::kExists) return std::move(answer).error().with_verdict(Verdict::kBlocked);
    return std::move(answer).error();
  }
  const std::string url = invocation.has("url") ? invocation.value("url") : server.api->access().server;
  if (is_loopback(url)) {
    invocation.out().warn(
        fmt::format("{} is reached from this machine only; for others start `strake up` with --listen "
                    "and --server-names, and give --url here",
                    url));
  }
  const std::string head = fmt::format("strake agent join {} --ca-hash sha256:{} --root DIR", shell_word(url),
                                       answer_text(*answer, "certificateAuthoritySha256"));
  invocation.out().progress(fmt::format("join token {} for node {}: good for one machine, until {}. On it:",
                                        answer_text(*answer, "id"), subject.node, answer_text(*answer, "expires")));
  if (!out.empty()) {
    STRAKE_CHECK_OK(write_out(out, answer_text(*answer, "token") + "\n"));
    invocation.out().text(fmt::format("{} --token-file {}\n", head, shell_word(out.string())));
    return kExitOk;
  }
  invocation.out().document(fmt::format("{} --token {}\n", head, answer_text(*answer, "token")));
  return kExitOk;
}

/// On Kubernetes: a CertificateSigningRequest, approved with the administrator's rights, waited for.
Result<std::string> signed_by_kubernetes(runtime::Runtime& runtime, kube::KubeApi& api,
                                         const api::CredentialSubject& subject, const net::CertificateRequest& request,
                                         std::chrono::seconds lifetime, const kube::Call& call) {
  if (request.common_name() != subject.user || request.organizations() != api::groups_of(subject.role)) {
    return error(
        Code::kInvalidArgument,
        "--csr: Kubernetes signs the names in the request, and this one is for '{}'; make it for CN={} and O={}",
        request.common_name(), subject.user, fmt::join(api::groups_of(subject.role), ", O="));
  }
  const std::string name = "strake-" + runtime.random().name_suffix(10);
  kube::Object wanted(kSigningRequest, {"", name});
  wanted.json().as_object()["spec"] = json::Object{{"request", codec::encode_base64(request.to_pem())},
                                                   {"signerName", kClientSigner},
                                                   {"expirationSeconds", lifetime.count()},
                                                   {"usages", json::Array{"client auth"}}};
  STRAKE_TRY_CONTEXT(kube::Object made, api.create(kSigningRequest, wanted, {}, call), "asking for a certificate");
  made.json().as_object()["status"] = json::Object{
      {"conditions", json::Array{json::Object{{"type", "Approved"},
                                              {"status", "True"},
                                              {"reason", "IssuedByStrake"},
                                              {"message", "approved by strake access issue certificate"}}}}};
  kube::WriteOptions approval;
  approval.subresource = "approval";
  STRAKE_TRY_CONTEXT(const kube::Object approved, api.update(kSigningRequest, made, approval, call), "approving {}",
                     name);
  while (true) {
    STRAKE_TRY(const kube::Object now, api.get(kSigningRequest, {"", name}, call));
    const std::string encoded = json::find_string(now.json(), {"status", "certificate"}).value_or("");
    if (!encoded.empty()) {
      STRAKE_TRY(const auto bytes, codec::decode_base64(encoded));
      return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    if (call.deadline && runtime.now() + kSigningPause >= *call.deadline) {
      return error(Code::kTimeout,
                   "CertificateSigningRequest {} is approved and nobody signs it: is a controller manager running with "
                   "--cluster-signing-cert-file?",
                   name);
    }
    STRAKE_CHECK_OK(runtime.sleep(kSigningPause, call.stop));
  }
}

struct IssuedHere {
  std::string said;
  std::string certificate_pem;
  std::string trusted_pem;  ///< "": as in the kubeconfig of who asked
};

Result<IssuedHere> issue_certificate(runtime::Runtime& runtime, const Invocation& invocation,
                                     const AccessServer& server, const api::CredentialSubject& subject,
                                     const net::CertificateRequest& request, const kube::Call& call) {
  IssuedHere issued;
  if (!server.issues) {
    const auto lifetime =
        invocation.has("lifetime") ? std::chrono::seconds(lifetime_seconds(invocation)) : std::chrono::seconds(24h);
    STRAKE_TRY(issued.certificate_pem, signed_by_kubernetes(runtime, *server.api, subject, request, lifetime, call));
    STRAKE_TRY(const net::Certificate certificate, net::Certificate::from_pem(issued.certificate_pem));
    issued.said = fmt::format(
        "issued a certificate for {}, good until {}; Kubernetes cannot revoke it: to end it earlier, remove the "
        "binding "
        "of its group",
        subject.user, format_rfc3339(certificate.info().not_after));
    return issued;
  }
  json::Object order = order_for(subject);
  order["request"] = request.to_pem();
  if (invocation.has("lifetime")) order["lifetimeSeconds"] = lifetime_seconds(invocation);
  STRAKE_TRY(const json::Value answer, server.post("certificates", order, call));
  issued.certificate_pem = answer_text(answer, "certificate");
  issued.trusted_pem = answer_text(answer, "certificateAuthority");
  issued.said = fmt::format("issued certificate {} for {}, good until {}", answer_text(answer, "id"),
                            answer_text(answer, "user"), answer_text(answer, "expires"));
  return issued;
}

Result<int> run_issue_certificate(const Invocation& invocation) {
  STRAKE_TRY(const api::CredentialSubject subject, wanted_subject(invocation));
  const std::filesystem::path out = invocation.path("out");
  const std::string& csr = invocation.value("csr");
  if (csr.empty() && out.empty()) {
    return error(Code::kInvalidArgument,
                 "--out FILE is missing: where the kubeconfig goes; or give --csr FILE, whose key stays where it is");
  }
  if (!out.empty()) STRAKE_CHECK_OK(check_can_be_made(out, "--out"));
  STRAKE_TRY(const net::PrivateKey key, net::PrivateKey::generate());
  std::string pem;
  if (!csr.empty()) {
    STRAKE_TRY_CONTEXT(pem, read_text_input(csr, net::CertificateRequest::kMaxBytes), "--csr");
  }
  STRAKE_TRY_CONTEXT(const net::CertificateRequest request,
                     csr.empty() ? net::CertificateRequest::make(key, subject.user, api::groups_of(subject.role))
                                 : net::CertificateRequest::from_pem(pem),
                     "{}", csr.empty() ? "making a request" : "--csr");
  runtime::ThreadRuntime runtime;
  const kube::Call call = cluster_call(runtime, invocation);
  STRAKE_TRY(const AccessServer server, connect_access(runtime, invocation, call));
  STRAKE_TRY(const IssuedHere issued, issue_certificate(runtime, invocation, server, subject, request, call));
  if (!csr.empty() && out.empty()) {
    invocation.out().progress(issued.said);
    invocation.out().document(issued.certificate_pem);
    return kExitOk;
  }
  if (!csr.empty()) {
    STRAKE_CHECK_OK(write_out(out, issued.certificate_pem));
  } else {
    kube::ClusterAccess given;
    given.ca_pem = issued.trusted_pem;
    given.client_cert_pem = issued.certificate_pem;
    given.client_key_pem = key.to_pem();
    STRAKE_CHECK_OK(write_credentials(out, server.api->access(), given));
  }
  invocation.out().text(fmt::format("{}: {}\n", issued.said, out.string()));
  return kExitOk;
}

constexpr ExitMeaning kIssueTokenExits[] = {
    {kExitOk, "issued"},
    {kExitBlocked, "FILE is there already; or the API server is Kubernetes, which has no such tokens"},
    kServerUnreachable};
constexpr ExitMeaning kIssueJoinTokenExits[] = {
    {kExitOk, "issued"},
    {kExitBlocked, "a node of that name exists, or FILE does; or the API server is Kubernetes"},
    kServerUnreachable};
constexpr ExitMeaning kIssueCertificateExits[] = {
    {kExitOk, "issued"}, {kExitBlocked, "FILE is there already"}, kServerUnreachable};

}  // namespace

const CommandSpec kAccessIssueTokenCommand{
    "access issue token",
    "Issue a bearer token with an end, for a person or a program.",
    "Roles: administrator may do everything; viewer reads what holds no secrets; config-viewer reads MachineConfigs "
    "as well; agent is one node's agent. The token is printed once, alone on standard output, and only its hash is "
    "kept; with --out it goes into a kubeconfig instead. Needs an administrator's kubeconfig; works over the network "
    "while `strake up` runs.\n\n"
    "  strake access issue token --role viewer --user ann --lifetime 8h --out ann.kubeconfig",
    {},
    kIssueTokenOptions,
    run_issue_token,
    kIssueTokenExits};

const CommandSpec kAccessIssueJoinTokenCommand{
    "access issue join-token",
    "Issue a token with which one machine may become one node.",
    "Prints the whole `strake agent join` line for that machine. The token names the node and its role; the server "
    "makes "
    "the Node when the token is used, for the first key that comes with it. The line carries the fingerprint of "
    "the server's authority, so that the machine's first contact is verified too. A token on a command line is seen by "
    "every user of that machine while the command runs: --out keeps it in a file for `--token-file`.\n\n"
    "  strake access issue join-token --node worker-3\n"
    "  strake access issue join-token --node infra-0 --node-role infra --out infra-0.token",
    {},
    kIssueJoinTokenOptions,
    run_issue_join_token,
    kIssueJoinTokenExits};

const CommandSpec kAccessIssueCertificateCommand{
    "access issue certificate",
    "Issue a client certificate, for a request or with a key made here, as a kubeconfig.",
    "Without --csr a key is made on this machine and never leaves it: the server signs a request, and FILE (mode 0600) "
    "becomes a kubeconfig. With --csr the names in the request do not count, only its key. On Kubernetes a "
    "CertificateSigningRequest (signer kubernetes.io/kube-apiserver-client) is made and approved with your rights, "
    "which must allow that; there the names in the request are what is signed, and must fit.\n\n"
    "  strake access issue certificate --role viewer --user ann --out ann.kubeconfig\n"
    "  strake access issue certificate --role agent --node worker-3 --csr worker-3.csr > worker-3.crt",
    {},
    kIssueCertificateOptions,
    run_issue_certificate,
    kIssueCertificateExits};

}  // namespace strake::cmd
