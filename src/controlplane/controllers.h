// The controllers of Strake, in the modes the cluster allows. Where they may write, one process runs them: the holder
// of the lease strake-system/strake-controller.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "base/runtime.h"
#include "controlplane/cluster_modes.h"
#include "kube/hooks.h"
#include "kube/kube_api.h"
#include "machineconfig/generate/generator_controller.h"
#include "machineconfig/render/render_controller.h"
#include "machineconfig/template/template_controller.h"
#include "rollout/drain/drain_controller.h"
#include "rollout/rollout_controller.h"
#include "stub/identity/identity_controller.h"

namespace strake::controlplane {

struct ControllersOptions {
  /// Names this process in the lease. A holder that comes back under its old name goes on at once.
  std::string identity;
  std::string version;  ///< of this program; rendered configs carry it
  /// How long a holder may be silent before another takes over.
  runtime::Duration lease_duration = std::chrono::seconds(15);
  /// For everything that runs inside. All callbacks come from several tasks and must not wait.
  kube::Hooks hooks{};
  /// Told who leads whenever that changes.
  std::function<void(const std::string& leader)> on_leader{};
  std::function<void()> on_stopped_leading{};
  std::function<void(const kube::LeaseFailure&)> on_lease_failure{};
  std::function<void()> on_lease_recovered{};
  /// Another process may lead now and our controllers have not stopped: must end the process.
  std::function<void()> on_overdue{};
  /// The controllers cannot be started; tried again after `next_try`.
  std::function<void(const Error& error, runtime::Duration next_try)> on_failure{};
  /// Told how far Strake may act, at the start and whenever that changes.
  std::function<void(const ClusterModes& modes)> on_modes{};
  /// Told how our render compares with another manager's, while only observing.
  std::function<void(const machineconfig::Agreement& agreement)> on_agreement{};
  std::function<void(const rollout::PoolReport& report)> on_pool{};
  std::function<void(const rollout::DrainReport& report)> on_drain{};
  std::function<void(const machineconfig::RenderReport& report)> on_render{};
  std::function<void(const machineconfig::GenerateReport& report)> on_generate{};
  /// Where new machines ask for their config, when neither StrakeConfig nor Infrastructure says it.
  std::optional<stub::ConfigServerPlace> config_server{};
  std::function<void(const stub::IdentityReport& report)> on_joining{};
  std::function<void(stub::IdentityStep step, const std::string& what)> on_joining_done{};
};

/// Runs the template, generator, render, rollout and identity controllers until stopped; contends for the lease first
/// where they may write. Nothing but the token ends it: a server that is away, rights that are missing or a config that
/// cannot be read are told to the callbacks and waited for.
void run_controllers(runtime::Runtime& runtime, kube::KubeApi& api, const ControllersOptions& options,
                     std::stop_token stop);

}  // namespace strake::controlplane
