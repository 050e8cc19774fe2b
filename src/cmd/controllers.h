// The controllers of Strake, run by the one process that holds the lease strake-system/strake-controller.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "base/runtime.h"
#include "kube/kube_api.h"

namespace strake::cmd {

struct ControllersOptions {
  /// Names this process in the lease. A holder that comes back under its old name goes on at once.
  std::string identity;
  /// How long a holder may be silent before another takes over.
  runtime::Duration lease_duration = std::chrono::seconds(15);
  /// Told who leads whenever that changes.
  std::function<void(const std::string& leader)> on_leader;
};

/// Contends for the lease and runs the render and rollout controllers while it is held. Returns when stopped.
Status run_controllers(runtime::Runtime& runtime, kube::KubeApi& api, const ControllersOptions& options,
                       std::stop_token stop);

}  // namespace strake::cmd
