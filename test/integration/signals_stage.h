// Daemons of the real program that are in trouble, and every place where a person may look: log, API objects, metrics.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/runtime.h"
#include "base/subprocess.h"
#include "kube/cluster_access.h"
#include "kube/https_api.h"
#include "support/temp_dir.h"

namespace strake::test {

/// Waits, looking again and again, until `seen` holds; false when it does not within a minute.
bool comes_true(const std::function<bool()>& seen);

/// One running verb and its log.
class Daemon {
 public:
  Daemon(std::vector<std::string> arguments, std::filesystem::path log_file);

  std::string log() const;
  /// A log line that holds all of these comes.
  bool says(const std::vector<std::string>& parts) const;
  /// SIGTERM; the exit code.
  int stop();
  bool alive() { return process_->alive(); }
  pid_t pid() const { return process_->pid(); }
  /// Of --metrics-listen 127.0.0.1:0: the body, or the status and the body when that is not 200.
  std::string get(const std::string& path) const;
  bool metric(const std::string& line_start) const;

 private:
  std::filesystem::path log_file_;
  std::optional<ChildProcess> process_;
};

/// `strake up` with a folder of its own.
class UpStage {
 public:
  explicit UpStage(std::vector<std::string> more_arguments = {});

  /// After daemon().stop(): on the same folder and port.
  void start_again();

  kube::KubeApi& api() { return *api_; }
  Daemon& daemon() { return *daemon_; }
  std::filesystem::path kubeconfig() const { return state() / "kubeconfig"; }
  std::filesystem::path state() const { return folder_ / "s"; }
  const TempDir& folder() const { return folder_; }
  const kube::ClusterAccess& access() const { return access_; }
  kube::Call call() { return runtime_.call_within(std::chrono::seconds(30)); }

  /// A kubeconfig for somebody this server's authority vouches for, valid until `not_after` from now.
  std::filesystem::path kubeconfig_for(const std::string& user, std::chrono::hours not_after,
                                       const std::vector<std::string>& groups = {});
  std::filesystem::path write_kubeconfig(const std::string& name, const kube::ClusterAccess& access);

  /// An Event about the object with this reason and a message that holds `part` comes.
  bool has_event(std::string_view kind, std::string_view name, std::string_view reason, std::string_view part);
  bool has_condition(const kube::Resource& resource, const std::string& name, std::string_view type,
                     std::string_view status, std::string_view message_part);
  /// A line of /metrics that starts so comes.
  bool metric(const std::string& line_start);

 private:
  TempDir folder_;
  runtime::ThreadRuntime runtime_;
  std::unique_ptr<Daemon> daemon_;
  kube::ClusterAccess access_;
  std::unique_ptr<kube::HttpsApi> api_;
};

}  // namespace strake::test
