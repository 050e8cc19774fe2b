// CallerKeeper: tells the cluster who asked and how often counted tokens were used, and the gate what other servers
// counted. One small write every ten seconds at most, and none while nothing happens; what cannot be written now is
// written later.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/runtime.h"
#include "configserver/caller_log.h"
#include "configserver/gate.h"
#include "kube/kube_api.h"

namespace strake::configserver {

struct CallerKeeperOptions {
  std::string server;  ///< under which its page stands: the same after a restart, another for each server
  runtime::Duration interval = std::chrono::seconds(10);
  /// Told when writing fails and when it works again ("" then). Must not wait.
  std::function<void(const std::string& problem)> on_problem{};
};

class CallerKeeper {
 public:
  CallerKeeper(runtime::Runtime& runtime, kube::KubeApi& api, Gate& gate, CallerKeeperOptions options);

  /// For each request; does not wait.
  void record(const ConfigRequest& request);

  void start();
  void stop();

 private:
  void run(std::stop_token stop);
  Status exchange(std::stop_token stop);
  Status write(const kube::Object& config_map, const std::map<std::string, std::uint64_t>& own_uses,
               std::uint64_t changes, std::stop_token stop);

  runtime::Runtime& runtime_;
  kube::KubeApi& api_;
  Gate& gate_;
  const CallerKeeperOptions options_;
  CallerLog log_;
  // The task's own.
  std::uint64_t written_changes_ = 0;
  std::map<std::string, std::uint64_t> written_uses_;
  /// What this server told before it was started again, and uses on pages it put away; nothing before the first look.
  std::optional<stub::CallerPage> before_;
  std::string problem_;
  runtime::Task task_;
};

}  // namespace strake::configserver
