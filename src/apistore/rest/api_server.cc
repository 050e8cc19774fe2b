#include "apistore/rest/api_server.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "apistore/rest/answers.h"
#include "apistore/rest/router.h"
#include "base/fd.h"
#include "kube/kubeconfig.h"
#include "net/http_server.h"
#include "pki/kept_identity.h"

namespace strake::apistore::rest {

namespace {

constexpr std::size_t kMaxRequestBytes = 3u << 20;
constexpr std::chrono::hours kCertificateLifetime{24 * 365};

std::string this_host() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

/// Loopback, this host, and what was asked for; addresses that mean "all of them" are no names.
std::vector<std::string> server_names(const ApiServerOptions& options) {
  std::vector<std::string> names = {"localhost", "127.0.0.1", "::1", this_host(), options.address};
  names.insert(names.end(), options.names.begin(), options.names.end());
  std::erase_if(names, [](const std::string& name) { return name.empty() || name == "0.0.0.0" || name == "::"; });
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

/// Where clients reach a server that listens there.
std::string client_host(const std::string& address) {
  if (address == "0.0.0.0") return "127.0.0.1";
  if (address == "::") return "[::1]";
  return address.find(':') == std::string::npos ? address : fmt::format("[{}]", address);
}

/// What the server shows: its own certificate, and behind it the authority, for clients that know that one by its
/// fingerprint only.
std::string chain_of(const pki::KeptIdentity& server, const pki::Authority& authority) {
  return server.pair().certificate + authority.signer().to_pem();
}

}  // namespace

/// Everything the server proves itself with.
struct ApiServer::Certificates {
  pki::Authority authority;
  pki::KeptIdentity server;
  pki::KeptIdentity admin;

  static Result<Certificates> open(const ApiServerOptions& options, runtime::Runtime& runtime) {
    Random& random = runtime.random();
    const auto now = runtime.wall_now();
    pki::AuthorityOptions authority_options;
    authority_options.directory = options.state_directory / "pki";
    STRAKE_TRY(pki::Authority authority, pki::Authority::open(std::move(authority_options), random, now));
    STRAKE_TRY(pki::KeptIdentity server,
               pki::KeptIdentity::open(authority, "server", pki::Subject::host("strake", server_names(options)),
                                       kCertificateLifetime, random, now));
    STRAKE_TRY(pki::KeptIdentity admin,
               pki::KeptIdentity::open(authority, "admin", pki::Subject::user("strake:admin", {"strake:admins"}),
                                       kCertificateLifetime, random, now));
    return Certificates{std::move(authority), std::move(server), std::move(admin)};
  }

  /// True when the server's is a new one.
  Result<bool> renew(runtime::Runtime& runtime) {
    STRAKE_CHECK_OK(admin.renew(authority, runtime.random(), runtime.wall_now()));
    return server.renew(authority, runtime.random(), runtime.wall_now());
  }
};

struct ApiServer::Impl {
  Impl(Service& given, ApiServerOptions wanted, Certificates own)
      : service(given), options(std::move(wanted)), certificates(std::move(own)) {}

  Service& service;
  const ApiServerOptions options;
  mutable std::mutex certificates_mutex;
  Certificates certificates;
  std::string served_trust = certificates.authority.trust_sha256();
  std::unique_ptr<AuditLog> audit;
  std::unique_ptr<Router> router;
  std::optional<net::HttpsServer> server;
  std::vector<std::filesystem::path> kubeconfigs;  ///< the administrator's, written again when it changes
  runtime::Task renewal;
  runtime::Task sweep;

  void sweep_credentials(const std::stop_token& stop) {
    while (service.runtime().sleep(options.credential_check, stop).ok()) {
      const Status swept = router->sweep_credentials();
      if (!swept.ok()) service.report("credential check", swept.error());
    }
  }

  void renew_certificates(const std::stop_token& stop) {
    runtime::Runtime& runtime = service.runtime();
    // On failure the old certificate stays in use and the next round tries again: it has a third of its life left.
    while (runtime.sleep(options.certificate_check, stop).ok()) {
      if (const Status renewed = renew_now(); !renewed.ok()) service.report("certificate renewal", renewed.error());
    }
  }

  /// The server's and the administrator's certificates, and where they are used: in this server, in the kubeconfigs.
  Status renew_now() {
    std::string chain, key, trusted;
    kube::ClusterAccess admin;
    std::vector<std::filesystem::path> files;
    {
      const std::lock_guard lock(certificates_mutex);
      const std::string admin_before = certificates.admin.pair().certificate;
      STRAKE_TRY(const bool server_renewed, certificates.renew(service.runtime()));
      const std::string trust = certificates.authority.trust_sha256();
      const bool trust_changed = trust != served_trust;
      if (!server_renewed && !trust_changed && certificates.admin.pair().certificate == admin_before) return {};
      served_trust = trust;
      chain = chain_of(certificates.server, certificates.authority);
      key = certificates.server.pair().key;
      trusted = certificates.authority.trusted_pem();
      admin = access(certificates.admin.pair(), url());
      files = kubeconfigs;
    }
    STRAKE_CHECK_OK(server->set_certificate(chain, key));
    STRAKE_CHECK_OK(server->set_client_ca(trusted));
    for (const std::filesystem::path& file : files) STRAKE_CHECK_OK(write_admin_kubeconfig(file, admin));
    return {};
  }

  static Status write_admin_kubeconfig(const std::filesystem::path& path, const kube::ClusterAccess& admin) {
    STRAKE_TRY(const std::string text, kube::write_kubeconfig(kube::kubeconfig_for("strake", admin)));
    return write_file_atomic(path, text, 0600);
  }

  std::string url() const { return fmt::format("https://{}:{}", client_host(options.address), server->port()); }

  kube::ClusterAccess access(const pki::PemPair& client, const std::string& url) const {
    kube::ClusterAccess access;
    access.server = url;
    access.ca_pem = certificates.authority.trusted_pem();
    access.client_cert_pem = client.certificate;
    access.client_key_pem = client.key;
    return access;
  }
};

ApiServer::ApiServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ApiServer::~ApiServer() { stop(std::chrono::milliseconds(0)); }

Result<std::unique_ptr<ApiServer>> ApiServer::start(Service& service, ApiServerOptions options) {
  runtime::Runtime& runtime = service.runtime();
  STRAKE_TRY_CONTEXT(Certificates certificates, Certificates::open(options, runtime),
                     "preparing the API server's certificates");
  auto impl = std::make_unique<Impl>(service, std::move(options), std::move(certificates));

  if (!impl->options.audit_log.empty()) {
    AuditOptions audit;
    audit.file = impl->options.audit_log;
    audit.on_problem = [&service](const Error& problem) { service.report("audit log", problem); };
    auto opened = AuditLog::open(runtime, std::move(audit));
    if (!opened.ok()) return std::move(opened).error().with_reason(std::string(kNoAuditLog));
    impl->audit = *std::move(opened);
  }

  RouterOptions router_options;
  router_options.user_limits = impl->options.user_limits;
  router_options.audit = impl->audit.get();
  router_options.program_version = impl->options.program_version;
  router_options.token_file = impl->options.state_directory / "tokens.json";
  router_options.revocation_file = impl->certificates.authority.directory() / "revoked.json";
  router_options.watches = impl->options.watches;
  router_options.more_metrics = impl->options.more_metrics;
  Impl* const self = impl.get();
  router_options.enrolment.authority = &impl->certificates.authority;
  router_options.enrolment.authority_mutex = &impl->certificates_mutex;
  router_options.enrolment.issued_file = impl->certificates.authority.directory() / "issued.json";
  router_options.enrolment.authority_changed = [self] {
    if (const Status used = self->renew_now(); !used.ok())
      self->service.report("rotation of the authority", used.error());
  };
  STRAKE_TRY(impl->router, Router::make(service, std::move(router_options)));

  net::ServerOptions server_options;
  server_options.address = impl->options.address;
  server_options.port = impl->options.port;
  server_options.certificate_pem = chain_of(impl->certificates.server, impl->certificates.authority);
  server_options.key_pem = impl->certificates.server.pair().key;
  server_options.client_ca_pem = impl->certificates.authority.trusted_pem();
  server_options.max_body_bytes = kMaxRequestBytes;
  server_options.handler_threads = impl->options.handler_threads;
  server_options.error_response = plain_status_response;
  Router* const router = impl->router.get();
  server_options.before_body = [router](const net::ServerRequest& head) { return router->refuse_unknown(head); };
  server_options.is_urgent = Router::is_health_check;
  // Whether the certificate still counts is asked with each request; this only opens a door that is never crowded.
  server_options.is_privileged = [](const net::PeerCertificate& certificate) {
    return Caller{certificate.common_name, certificate.organizations}.is_admin();
  };
  STRAKE_TRY_CONTEXT(
      impl->server,
      net::HttpsServer::start(std::move(server_options),
                              [router](const net::ServerRequest& request, const net::Responder& responder) {
                                router->handle(request, responder);
                              }),
      "starting the API server on {} port {}", impl->options.address, impl->options.port);
  impl->renewal =
      runtime.spawn("certificate-renewal", [self](std::stop_token stop) { self->renew_certificates(stop); });
  impl->sweep = runtime.spawn("credential-sweep", [self](std::stop_token stop) { self->sweep_credentials(stop); });
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(impl)));
}

std::uint16_t ApiServer::port() const { return impl_->server->port(); }

std::string ApiServer::url() const { return impl_->url(); }

kube::ClusterAccess ApiServer::admin_access() const {
  const std::lock_guard lock(impl_->certificates_mutex);
  return impl_->access(impl_->certificates.admin.pair(), url());
}

Result<std::filesystem::path> ApiServer::write_kubeconfig(const std::filesystem::path& path) const {
  STRAKE_CHECK_OK(Impl::write_admin_kubeconfig(path, admin_access()));
  const std::lock_guard lock(impl_->certificates_mutex);
  impl_->kubeconfigs.push_back(path);
  return path;
}

Result<kube::ClusterAccess> ApiServer::issue_client(const std::string& user, const std::vector<std::string>& groups,
                                                    std::chrono::hours lifetime) {
  runtime::Runtime& runtime = impl_->service.runtime();
  const std::lock_guard lock(impl_->certificates_mutex);
  STRAKE_TRY(const pki::PemPair pair, impl_->certificates.authority.issue(pki::Subject::user(user, groups), lifetime,
                                                                          runtime.random(), runtime.wall_now()));
  return impl_->access(pair, url());
}

pki::TokenFile& ApiServer::tokens() { return impl_->router->tokens(); }

void ApiServer::stop(std::chrono::milliseconds grace) {
  if (!impl_) return;
  impl_->renewal.stop_and_join();
  impl_->sweep.stop_and_join();
  // Watches first: their streams end in good order, and clients come back elsewhere or later.
  impl_->router->stop();
  impl_->server->stop(grace);
  if (impl_->audit) impl_->audit->stop();
}

}  // namespace strake::apistore::rest
