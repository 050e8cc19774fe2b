// Real third-party servers for tests. Without their programs a test fails and says which command builds them; it never
// skips.
//
// Every server lives in a private folder, listens on 127.0.0.1 with TLS of its own authority, sees nothing of the
// caller's environment, and dies with the test program. Nothing here depends on a test framework.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"
#include "support/pki.h"
#include "support/temp_dir.h"

namespace strake::test {

struct KubeClusterOptions {
  bool durable_etcd = false;       ///< true: etcd syncs every write to disk, as it does in production
  bool controller_manager = true;  ///< namespaces, garbage collection, service accounts, disruption budgets
  bool economical = true;          ///< false: memory and flow control as in production, to be measured
};

/// The folder with etcd, kube-apiserver, kube-controller-manager, kubectl and judge-kubelet (Kubernetes' validation of
/// kubelet configurations); an error says how to build them.
Result<std::filesystem::path> kube_programs();

/// The folder with ignition-validate, judge-ignition3 (spec 3.x), ignition2-validate and judge-ignition2 (spec 2.x and
/// translations), judge-render (merge and rendered names), butane and judge-butane (Butane configs), judge-policy
/// (image policies) and crane, which judge what we write.
Result<std::filesystem::path> judge_programs();

/// The folder with oxt, the command line of ostree-ext: it writes and reads OS images as bootc and rpm-ostree do.
Result<std::filesystem::path> os_image_programs();

/// The folder of `helmstore`, and of `python3` with the packages in `python`.
Result<std::filesystem::path> client_programs();

/// etcd, kube-apiserver and kube-controller-manager, without nodes. Stopping it throws its data away.
class KubeCluster {
 public:
  /// Returns once the API answers and, with a controller manager, pods could be created.
  static Result<std::unique_ptr<KubeCluster>> start(const KubeClusterOptions& options = {});

  KubeCluster(const KubeCluster&) = delete;
  KubeCluster& operator=(const KubeCluster&) = delete;
  ~KubeCluster();

  const std::string& url() const { return url_; }  ///< https://127.0.0.1:PORT
  const std::filesystem::path& ca_file() const { return pki_->authority().certificate; }

  // The administrator, of group system:masters.
  const std::filesystem::path& admin_cert() const { return admin_.certificate; }
  const std::filesystem::path& admin_key() const { return admin_.key; }
  const std::filesystem::path& kubeconfig() const { return kubeconfig_; }

  /// A certificate for the user `common_name` in these groups; the same subject gives the same files.
  Result<CertificateFiles> client_certificate(const std::string& common_name,
                                              const std::vector<std::string>& organizations);

  /// A kubeconfig for such a user.
  Result<std::filesystem::path> client_kubeconfig(const std::string& common_name,
                                                  const std::vector<std::string>& organizations);

  struct Kubectl {
    std::vector<std::string> arguments;
    std::string stdin_bytes = {};
    std::filesystem::path kubeconfig = {};  ///< empty: the administrator's
    std::chrono::milliseconds timeout = std::chrono::seconds(30);
  };
  Result<ProcessOutput> kubectl(const Kubectl& call) const;

  /// As administrator; any exit status other than 0 is an error that quotes stderr.
  Result<std::string> kubectl_checked(std::vector<std::string> arguments) const;

  /// Defines the kinds of deploy/crds and waits until they are served.
  Status install_definitions();

  /// Deletes what earlier suites left: Nodes, and the objects of all kinds of deploy/crds.
  Status collect_leftovers();

  /// Throws the history of the store away, as kube-apiserver does every five minutes.
  Status compact_etcd();

  struct Process {
    std::string name;  ///< "etcd", "kube-apiserver" or "kube-controller-manager"
    pid_t pid;
  };
  std::vector<Process> processes() const;

  /// The folder with everything of this cluster, logs included. It is removed with the cluster unless STRAKE_TEST_KEEP
  /// is set.
  const std::filesystem::path& directory() const { return directory_->path(); }

 private:
  struct Ports {
    std::uint16_t etcd_client = 0, etcd_peer = 0, apiserver = 0;
  };
  struct Server {
    std::string name;
    std::filesystem::path log;
    ChildProcess process;
  };

  explicit KubeCluster(KubeClusterOptions options, std::filesystem::path programs);

  Status make_certificates();
  Status start_servers();
  Status start_etcd();
  Status start_apiserver();
  Status start_controller_manager();
  Status start_server(const std::string& name, std::vector<std::string> arguments);
  Status wait_until_serving(const std::string& url);
  Result<std::string> ask_etcd(const std::string& method, const std::string& body) const;
  Status check_servers_alive();
  bool a_server_lost_its_port() const;
  void kill_servers();
  Result<std::filesystem::path> write_kubeconfig(const std::string& name, const CertificateFiles& user) const;
  std::vector<std::string> server_environment() const;

  KubeClusterOptions options_;
  std::filesystem::path programs_;
  std::unique_ptr<TempDir> directory_;
  std::optional<TestPki> pki_;
  CertificateFiles admin_, server_, etcd_, etcd_client_, controller_manager_;
  std::filesystem::path token_key_;
  std::filesystem::path kubeconfig_;
  Ports ports_;
  std::string url_;
  std::vector<Server> servers_;
  std::map<std::string, CertificateFiles> clients_;
};

/// The cluster that all suites of a test program share, started by the first call and stopped when the program ends.
/// Suites tell their objects apart by name; they do not delete namespaces, which takes at least five seconds each.
Result<KubeCluster*> shared_cluster();

}  // namespace strake::test
