// AccessWatch: keeps a gate's book as the cluster's Secret has it.
//
// No Secret: open, as the platform's own server is. A Secret that cannot be read, or goes while credentials are
// required, changes nothing: the last book decides on. One that cannot be read from the start lets nobody in.
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "base/runtime.h"
#include "configserver/gate.h"
#include "kube/events.h"
#include "kube/informer.h"

namespace strake::configserver {

/// Who may ask now, for logs and metrics.
struct AccessReport {
  std::optional<stub::AccessMode> mode{};  ///< nothing: nobody can say, nobody gets in
  std::size_t tokens = 0;
  std::string problem{};  ///< why the Secret does not count as it is; "" when it does

  bool operator==(const AccessReport&) const = default;
};

struct AccessWatchOptions {
  kube::Hooks hooks{};
  /// Told when it changes. Called by an informer or the watch's own task; must not wait.
  std::function<void(const AccessReport&)> on_access{};
  /// Whose client certificates count from now on; "" for nobody's.
  std::function<Status(const std::string& client_ca_pem)> on_client_ca{};
};

class AccessWatch {
 public:
  AccessWatch(runtime::Runtime& runtime, kube::KubeApi& api, Gate& gate, AccessWatchOptions options);

  void start();
  void stop();

 private:
  void take();
  void tell(const std::string& problem);

  runtime::Runtime& runtime_;
  Gate& gate_;
  const AccessWatchOptions options_;
  std::mutex mutex_;  ///< one change at a time
  std::optional<AccessReport> told_;
  kube::Informer access_;
  kube::EventRecorder events_;
  runtime::Task first_look_;
};

}  // namespace strake::configserver
