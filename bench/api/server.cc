#include "server.h"

#include "base/subprocess.h"
#include "support/places.h"
#include "support/servers.h"
#include "support/temp_dir.h"

namespace strake::bench {

namespace {

using namespace std::chrono_literals;

constexpr auto kStartLimit = 30s;
constexpr auto kLookAgain = 50ms;

class StrakeServer final : public Server {
 public:
  static Result<std::unique_ptr<Server>> start(runtime::Runtime& runtime, const std::vector<std::string>& options) {
    std::unique_ptr<StrakeServer> strake(new StrakeServer);
    Command command;
    command.argv = {test::strake_program().string(),      "up",       "--state",
                    (strake->folder_ / "state").string(), "--listen", "127.0.0.1:0"};
    command.argv.insert(command.argv.end(), options.begin(), options.end());
    command.log_file = strake->folder_ / "log";
    STRAKE_TRY(ChildProcess process, ChildProcess::start(command));
    strake->process_.emplace(std::move(process));
    strake->processes_ = {strake->process_->pid()};
    const runtime::TimePoint limit = runtime.now() + kStartLimit;
    // The kubeconfig is written when the API is served.
    while (!std::filesystem::exists(strake->folder_ / "state/kubeconfig")) {
      if (const auto exit = strake->process_->wait_exit(kLookAgain); exit || runtime.now() >= limit) {
        return error(Code::kUnavailable, "strake up did not serve its API: {}",
                     read_file(command.log_file, 1 << 16).value_or("no log"));
      }
    }
    STRAKE_CHECK_OK(strake->connect(runtime, strake->folder_ / "state/kubeconfig"));
    return std::unique_ptr<Server>(std::move(strake));
  }
  const std::vector<pid_t>& processes() const override { return processes_; }

 private:
  StrakeServer() = default;

  test::TempDir folder_;
  std::optional<ChildProcess> process_;
  std::vector<pid_t> processes_;
};

class KubernetesServer final : public Server {
 public:
  static Result<std::unique_ptr<Server>> start(runtime::Runtime& runtime) {
    std::unique_ptr<KubernetesServer> kubernetes(new KubernetesServer);
    // Without controllers, although those of Strake run inside `strake up`: only API and storage are weighed.
    STRAKE_TRY(kubernetes->cluster_,
               test::KubeCluster::start({.durable_etcd = true, .controller_manager = false, .economical = false}));
    for (const auto& process : kubernetes->cluster_->processes()) kubernetes->processes_.push_back(process.pid);
    STRAKE_CHECK_OK(kubernetes->connect(runtime, kubernetes->cluster_->kubeconfig()));
    return std::unique_ptr<Server>(std::move(kubernetes));
  }
  const std::vector<pid_t>& processes() const override { return processes_; }

 private:
  KubernetesServer() = default;

  std::unique_ptr<test::KubeCluster> cluster_;
  std::vector<pid_t> processes_;
};

}  // namespace

Status Server::connect(runtime::Runtime& runtime, const std::filesystem::path& kubeconfig) {
  STRAKE_TRY(const kube::Kubeconfig config, kube::load_kubeconfig(kube::kubeconfig_locations(kubeconfig)));
  STRAKE_TRY(const kube::ClusterAccess access, kube::resolve_access(config));
  STRAKE_TRY(api_, kube::HttpsApi::create(runtime, access));
  kube::HttpsOptions whole_lists;
  whole_lists.max_body_bytes = 512u << 20;
  STRAKE_TRY(wire_, kube::HttpsTransport::create(runtime, access, whole_lists));
  return {};
}

Result<std::unique_ptr<Server>> start_strake(runtime::Runtime& runtime, const std::vector<std::string>& options) {
  return StrakeServer::start(runtime, options);
}
Result<std::unique_ptr<Server>> start_kubernetes(runtime::Runtime& runtime) { return KubernetesServer::start(runtime); }

}  // namespace strake::bench
