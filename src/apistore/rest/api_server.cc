#include "apistore/rest/api_server.h"

#include <optional>

#include "apistore/rest/answers.h"
#include "apistore/rest/router.h"
#include "base/fd.h"
#include "kube/kubeconfig.h"
#include "net/http_server.h"

namespace strake::apistore::rest {

namespace {

constexpr std::size_t kMaxRequestBytes = 3u << 20;

/// Where clients reach a server that listens there.
std::string client_host(const std::string& address) {
  if (address == "0.0.0.0") return "127.0.0.1";
  if (address == "::") return "[::1]";
  return address.find(':') == std::string::npos ? address : fmt::format("[{}]", address);
}

}  // namespace

struct ApiServer::Impl {
  Impl(Service& given, ApiServerOptions wanted, Pki certificates)
      : service(given), options(std::move(wanted)), pki(std::move(certificates)) {}

  Service& service;
  const ApiServerOptions options;
  mutable std::mutex pki_mutex;
  Pki pki;
  std::unique_ptr<Router> router;
  std::optional<net::HttpsServer> server;
  runtime::Task renewal;

  void renew_certificates(const std::stop_token& stop) {
    runtime::Runtime& runtime = service.runtime();
    while (runtime.sleep(options.certificate_check, stop).ok()) {
      PemPair fresh;
      {
        const std::lock_guard lock(pki_mutex);
        // On failure the old certificate stays in use and the next round tries again: it has a third of its life left.
        const Result<bool> renewed = pki.renew(runtime.random(), runtime.wall_now());
        if (!renewed.ok() || !*renewed) continue;
        fresh = pki.server();
      }
      static_cast<void>(server->set_certificate(fresh.certificate, fresh.key));
    }
  }

  kube::ClusterAccess access(const PemPair& client, const std::string& url) const {
    kube::ClusterAccess access;
    access.server = url;
    access.ca_pem = pki.ca_pem();
    access.client_cert_pem = client.certificate;
    access.client_key_pem = client.key;
    return access;
  }
};

ApiServer::ApiServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ApiServer::~ApiServer() { stop(std::chrono::milliseconds(0)); }

Result<std::unique_ptr<ApiServer>> ApiServer::start(Service& service, ApiServerOptions options) {
  runtime::Runtime& runtime = service.runtime();
  PkiOptions pki_options;
  pki_options.directory = options.state_directory / "pki";
  pki_options.server_names = options.names;
  pki_options.server_names.push_back(options.address);
  STRAKE_TRY_CONTEXT(Pki pki, Pki::open(std::move(pki_options), runtime.random(), runtime.wall_now()),
                     "preparing the API server's certificates");
  auto impl = std::make_unique<Impl>(service, std::move(options), std::move(pki));

  RouterOptions router_options;
  router_options.program_version = impl->options.program_version;
  router_options.token_file = impl->options.state_directory / "tokens.json";
  router_options.watches = impl->options.watches;
  STRAKE_TRY(impl->router, Router::make(service, std::move(router_options)));

  net::ServerOptions server_options;
  server_options.address = impl->options.address;
  server_options.port = impl->options.port;
  server_options.certificate_pem = impl->pki.server().certificate;
  server_options.key_pem = impl->pki.server().key;
  server_options.client_ca_pem = impl->pki.ca_pem();
  server_options.max_body_bytes = kMaxRequestBytes;
  server_options.handler_threads = impl->options.handler_threads;
  server_options.error_response = plain_status_response;
  Router* const router = impl->router.get();
  STRAKE_TRY_CONTEXT(
      impl->server,
      net::HttpsServer::start(std::move(server_options),
                              [router](const net::ServerRequest& request, const net::Responder& responder) {
                                router->handle(request, responder);
                              }),
      "starting the API server on {} port {}", impl->options.address, impl->options.port);
  Impl* const self = impl.get();
  impl->renewal =
      runtime.spawn("certificate-renewal", [self](std::stop_token stop) { self->renew_certificates(stop); });
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(impl)));
}

std::uint16_t ApiServer::port() const { return impl_->server->port(); }

std::string ApiServer::url() const { return fmt::format("https://{}:{}", client_host(impl_->options.address), port()); }

kube::ClusterAccess ApiServer::admin_access() const {
  const std::lock_guard lock(impl_->pki_mutex);
  return impl_->access(impl_->pki.admin(), url());
}

Result<std::filesystem::path> ApiServer::write_kubeconfig(const std::filesystem::path& path) const {
  STRAKE_TRY(const std::string text, kube::write_kubeconfig(kube::kubeconfig_for("strake", admin_access())));
  STRAKE_CHECK_OK(write_file_atomic(path, text, 0600));
  return path;
}

Result<kube::ClusterAccess> ApiServer::issue_client(const std::string& user, const std::vector<std::string>& groups,
                                                    std::chrono::hours lifetime) {
  runtime::Runtime& runtime = impl_->service.runtime();
  const std::lock_guard lock(impl_->pki_mutex);
  STRAKE_TRY(const PemPair pair, impl_->pki.issue_client(user, groups, lifetime, runtime.random(), runtime.wall_now()));
  return impl_->access(pair, url());
}

TokenFile& ApiServer::tokens() { return impl_->router->tokens(); }

void ApiServer::stop(std::chrono::milliseconds grace) {
  if (!impl_) return;
  impl_->renewal.stop_and_join();
  // Watches first: their streams end in good order, and clients come back elsewhere or later.
  impl_->router->stop();
  impl_->server->stop(grace);
}

}  // namespace strake::apistore::rest
