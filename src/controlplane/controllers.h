// The controllers of Strake, in the modes the cluster allows. Where they may write, one process runs them: the holder
// of the lease strake-system/strake-controller.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "base/runtime.h"
#include "controlplane/cluster_modes.h"
#include "kube/kube_api.h"
#include "machineconfig/render_controller.h"

namespace strake::controlplane {

struct ControllersOptions {
  /// Names this process in the lease. A holder that comes back under its old name goes on at once.
  std::string identity;
  std::string version;  ///< of this program; rendered configs carry it
  /// How long a holder may be silent before another takes over.
  runtime::Duration lease_duration = std::chrono::seconds(15);
  /// Told who leads whenever that changes.
  std::function<void(const std::string& leader)> on_leader{};
  /// Told how far Strake may act, at the start and whenever that changes.
  std::function<void(const ClusterModes& modes)> on_modes{};
  /// Told how our render compares with another manager's, while only observing.
  std::function<void(const machineconfig::Agreement& agreement)> on_agreement{};
};

/// Runs the render and rollout controllers until stopped; contends for the lease first where they may write.
Status run_controllers(runtime::Runtime& runtime, kube::KubeApi& api, const ControllersOptions& options,
                       std::stop_token stop);

}  // namespace strake::controlplane
