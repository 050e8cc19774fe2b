#include "controlplane/config_service.h"

#include "api/roles.h"
#include "base/fd.h"

namespace strake::controlplane {

namespace {

constexpr std::size_t kMaxIdentityBytes = std::size_t{1} << 20;
/// Machines that are being answered when the service ends get their answer to the end.
constexpr std::chrono::seconds kGrace{5};

configserver::ConfigServerOptions server_options(const ConfigServiceOptions& options) {
  configserver::ConfigServerOptions server;
  server.address = options.listen.address;
  server.port = options.listen.port;
  server.tls = options.tls;
  server.on_request = options.on_request;
  return server;
}

}  // namespace

ConfigService::ConfigService(runtime::Runtime& runtime, ConfigServiceOptions options)
    : runtime_(runtime), options_(std::move(options)), server_(shelf_, server_options(options_)) {}

ConfigService::~ConfigService() { stop(); }

Result<std::unique_ptr<ConfigService>> ConfigService::start(runtime::Runtime& runtime, kube::KubeApi* api,
                                                            ConfigServiceOptions options) {
  auto service = std::unique_ptr<ConfigService>(new ConfigService(runtime, std::move(options)));
  ConfigService* self = service.get();
  if (self->options_.identity) STRAKE_CHECK_OK(self->read_identity_files());
  if (self->options_.bootstrap) self->shelf_.put(configserver::read_bootstrap(*self->options_.bootstrap));
  self->keeper_ = runtime.spawn("config-server", [self](std::stop_token stop) { self->look_after(stop); });
  if (self->options_.bootstrap) return service;
  configserver::ClusterAnswersOptions cluster;
  cluster.api_server_url = self->options_.api_server_url;
  cluster.bootstrap_token_optional = self->options_.bootstrap_token_optional;
  cluster.hooks = self->options_.hooks;
  cluster.on_pool = self->options_.on_pool;
  if (!self->options_.identity) {
    cluster.on_identity = [self](const std::string& certificate, const std::string& key) {
      self->take_identity_of_cluster({certificate, key});
    };
  }
  self->cluster_ = std::make_unique<configserver::ClusterAnswers>(runtime, *api, self->shelf_, std::move(cluster));
  self->cluster_->start();
  return service;
}

std::optional<runtime::Duration> ConfigService::stale_for() const {
  return cluster_ ? cluster_->stale_for() : std::nullopt;
}

void ConfigService::stop() {
  keeper_.stop_and_join();
  if (cluster_) cluster_->stop();
  server_.stop(kGrace);
}

Status ConfigService::take_identity(const pki::PemPair& identity) {
  STRAKE_TRY(const bool changed, server_.set_identity(identity.certificate, identity.key));
  if (changed && options_.on_identity) {
    options_.on_identity({options_.listen.address, server_.port()}, identity.certificate);
  }
  return {};
}

Status ConfigService::read_identity_files() {
  pki::PemPair identity;
  STRAKE_TRY(identity.certificate, read_file(options_.identity->certificate, kMaxIdentityBytes));
  STRAKE_TRY(identity.key, read_file(options_.identity->key, kMaxIdentityBytes));
  return take_identity(identity);
}

void ConfigService::take_identity_of_cluster(const pki::PemPair& identity) {
  const Status taken = take_identity(identity);
  {
    const std::scoped_lock lock(mutex_);
    not_taken_ = taken.ok() ? std::nullopt : std::optional(identity);
  }
  if (!taken.ok() && options_.on_identity_failure) {
    options_.on_identity_failure(
        Error(taken.error()).context(fmt::format("Secret {}", api::serving_object::kIdentity)));
  }
}

void ConfigService::look_after(std::stop_token stop) {
  while (runtime_.sleep(options_.look_at_files, stop).ok()) {
    if (options_.bootstrap) shelf_.put(configserver::read_bootstrap(*options_.bootstrap));
    if (options_.identity) {
      const Status read = read_identity_files();
      // Between the two files being replaced they do not match; the next look finds them whole.
      if (!read.ok() && options_.on_identity_failure) options_.on_identity_failure(read.error());
      continue;
    }
    std::optional<pki::PemPair> again;
    {
      const std::scoped_lock lock(mutex_);
      again = not_taken_;
    }
    if (again) take_identity_of_cluster(*again);
  }
}

}  // namespace strake::controlplane
