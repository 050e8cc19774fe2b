// ConfigService: a config server with all it needs to run, against a cluster or from a bootstrap directory.
//
// It listens as soon as it has a certificate: from files, looked at again every few seconds, or from the cluster's
// Secret. Whatever is missing or breaks later is told and waited for.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/runtime.h"
#include "configserver/access_watch.h"
#include "configserver/bootstrap_answers.h"
#include "configserver/caller_keeper.h"
#include "configserver/cluster_answers.h"
#include "configserver/config_server.h"
#include "kube/kube_api.h"
#include "net/endpoint.h"
#include "pki/private_files.h"

namespace strake::controlplane {

struct IdentityFiles {
  std::filesystem::path certificate;
  std::filesystem::path key;
};

struct ConfigServiceOptions {
  net::Endpoint listen{"127.0.0.1", 22623};
  net::TlsPolicy tls{};
  std::optional<IdentityFiles> identity{};                  ///< absent: the cluster's Secret
  std::optional<configserver::BootstrapInput> bootstrap{};  ///< instead of a cluster
  std::string api_server_url{};                             ///< for the kubeconfig of new machines
  bool bootstrap_token_optional = false;
  runtime::Duration look_at_files = std::chrono::seconds(5);
  runtime::Duration tell_callers_every = std::chrono::seconds(10);
  std::string server_name{};         ///< under which it tells who asked; "": this machine's name and the port
  configserver::GateOptions gate{};  ///< who may ask; the cluster's Secret says more
  std::optional<std::filesystem::path> token_file{};  ///< with a bootstrap directory: see stub::read_token_file

  // Told what happens; all from several tasks, none may wait.
  kube::Hooks hooks{};
  std::function<void(const configserver::ConfigRequest&)> on_request{};
  std::function<void(const configserver::PoolServing&)> on_pool{};
  /// It listens here now, or serves with another certificate.
  std::function<void(const net::Endpoint&, const std::string& certificate_pem)> on_identity{};
  std::function<void(const Error&)> on_identity_failure{};
  std::function<void(const configserver::AccessReport&)> on_access{};
  /// Who asked cannot be told to the cluster; "" when it can again.
  std::function<void(const std::string& problem)> on_callers_problem{};
};

class ConfigService {
 public:
  /// `api` may be nullptr with a bootstrap directory; else it must outlive the service. An error: options that cannot
  /// be served, such as a port in use when the certificate is there from the start.
  static Result<std::unique_ptr<ConfigService>> start(runtime::Runtime& runtime, kube::KubeApi* api,
                                                      ConfigServiceOptions options);
  ~ConfigService();

  std::uint16_t port() const { return server_.port(); }
  /// See ClusterAnswers::stale_for.
  std::optional<runtime::Duration> stale_for() const;
  void stop();

 private:
  ConfigService(runtime::Runtime& runtime, ConfigServiceOptions options);

  Status take_identity(const pki::PemPair& identity);
  Status read_identity_files();
  void take_identity_of_cluster(const pki::PemPair& identity);
  configserver::ConfigServerOptions server_options();
  void keep_callers(kube::KubeApi& api);
  void watch_access(kube::KubeApi& api);
  Status read_bootstrap_access();
  void look_after(std::stop_token stop);

  runtime::Runtime& runtime_;
  const ConfigServiceOptions options_;
  configserver::AnswerShelf shelf_;
  configserver::Gate gate_;
  configserver::ConfigServer server_;
  std::mutex mutex_;
  std::string bootstrap_access_problem_;   ///< the keeper's own
  std::optional<pki::PemPair> not_taken_;  ///< from the cluster, tried again: a port may become free
  std::unique_ptr<configserver::ClusterAnswers> cluster_;
  std::unique_ptr<configserver::AccessWatch> access_;
  std::unique_ptr<configserver::CallerKeeper> callers_;  ///< from the start, or never
  /// What cluster_ is once it runs: machines may ask before that.
  std::atomic<configserver::ClusterAnswers*> refusals_to_ = nullptr;
  runtime::Task keeper_;
};

}  // namespace strake::controlplane
