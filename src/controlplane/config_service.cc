#include "controlplane/config_service.h"

#include <unistd.h>

#include <array>

#include "api/roles.h"
#include "base/fd.h"
#include "stub/access_book.h"
#include "stub/callers.h"

namespace strake::controlplane {

namespace {

constexpr std::size_t kMaxIdentityBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxTokenFileBytes = std::size_t{1} << 20;
/// Machines that are being answered when the service ends get their answer to the end.
constexpr std::chrono::seconds kGrace{5};

/// The same after a restart, another for each server.
std::string name_of(const ConfigServiceOptions& options) {
  if (!options.server_name.empty()) return stub::server_key(options.server_name);
  std::array<char, 256> host{};
  (void)gethostname(host.data(), host.size() - 1);
  return stub::server_key(fmt::format("{}-{}", host.data(), options.listen.port));
}

}  // namespace

ConfigService::ConfigService(runtime::Runtime& runtime, ConfigServiceOptions options)
    : runtime_(runtime),
      options_(std::move(options)),
      gate_(runtime, options_.gate),
      server_(shelf_, server_options()) {}

ConfigService::~ConfigService() { stop(); }

configserver::ConfigServerOptions ConfigService::server_options() {
  configserver::ConfigServerOptions server;
  server.address = options_.listen.address;
  server.port = options_.listen.port;
  server.tls = options_.tls;
  server.gate = &gate_;
  server.on_request = [this](const configserver::ConfigRequest& request) {
    if (callers_) callers_->record(request);
    if (configserver::ClusterAnswers* cluster = refusals_to_.load())
      cluster->note_refused(request.pool, request.outcome);
    if (options_.on_request) options_.on_request(request);
  };
  return server;
}

Result<std::unique_ptr<ConfigService>> ConfigService::start(runtime::Runtime& runtime, kube::KubeApi* api,
                                                            ConfigServiceOptions options) {
  auto service = std::unique_ptr<ConfigService>(new ConfigService(runtime, std::move(options)));
  ConfigService* self = service.get();
  if (!self->options_.bootstrap) self->keep_callers(*api);
  if (self->options_.identity) STRAKE_CHECK_OK(self->read_identity_files());
  if (self->options_.bootstrap) {
    STRAKE_CHECK_OK(self->read_bootstrap_access());
    self->shelf_.put(configserver::read_bootstrap(*self->options_.bootstrap));
  }
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
  self->refusals_to_ = self->cluster_.get();
  self->watch_access(*api);
  return service;
}

Status ConfigService::read_bootstrap_access() {
  stub::AccessBook book;  // open: there is no cluster to ask
  if (options_.token_file) {
    STRAKE_TRY(const std::string text, read_file(*options_.token_file, kMaxTokenFileBytes));
    STRAKE_TRY_CONTEXT(book, stub::read_token_file(text), "{}", options_.token_file->string());
  }
  gate_.set_book(std::make_shared<const stub::AccessBook>(std::move(book)));
  return {};
}

void ConfigService::keep_callers(kube::KubeApi& api) {
  configserver::CallerKeeperOptions options;
  options.server = name_of(options_);
  options.interval = options_.tell_callers_every;
  options.on_problem = options_.on_callers_problem;
  callers_ = std::make_unique<configserver::CallerKeeper>(runtime_, api, gate_, std::move(options));
  callers_->start();
}

void ConfigService::watch_access(kube::KubeApi& api) {
  configserver::AccessWatchOptions options;
  options.hooks = options_.hooks;
  options.on_access = options_.on_access;
  options.on_client_ca = [this](const std::string& client_ca_pem) { return server_.set_client_ca(client_ca_pem); };
  access_ = std::make_unique<configserver::AccessWatch>(runtime_, api, gate_, std::move(options));
  access_->start();
}

std::optional<runtime::Duration> ConfigService::stale_for() const {
  return cluster_ ? cluster_->stale_for() : std::nullopt;
}

void ConfigService::stop() {
  keeper_.stop_and_join();
  if (access_) access_->stop();
  if (cluster_) cluster_->stop();
  server_.stop(kGrace);
  if (callers_) callers_->stop();
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
    if (options_.bootstrap) {
      shelf_.put(configserver::read_bootstrap(*options_.bootstrap));
      const Status read = read_bootstrap_access();
      std::string problem = read.ok() ? "" : read.error().to_string() + "; what it said last counts";
      if (problem != bootstrap_access_problem_ && options_.on_access) {
        options_.on_access({gate_.mode(), gate_.book()->tokens().size(), problem});
      }
      bootstrap_access_problem_ = std::move(problem);
    }
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
