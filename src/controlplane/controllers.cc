#include "controlplane/controllers.h"

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "api/kinds.h"
#include "controlplane/cluster_modes.h"
#include "kube/leader_election.h"
#include "machineconfig/render_controller.h"
#include "rollout/rollout_controller.h"

namespace strake::controlplane {

namespace {

using namespace std::chrono_literals;

constexpr runtime::Duration kModesKnownWithin = 1min;

/// On Kubernetes deploy/rbac makes the namespace; the embedded store starts without it.
Status ensure_namespace(runtime::Runtime& runtime, kube::KubeApi& api, std::stop_token stop) {
  const kube::Call call = runtime.call_within(1min, stop);
  const kube::ObjectKey key{"", std::string(api::kStrakeNamespace)};
  const auto found = api.get(kube::core::kNamespace, key, call);
  if (found.ok()) return {};
  if (found.error().code() != Code::kNotFound) return found.error();
  const auto created = api.create(kube::core::kNamespace, kube::Object(kube::core::kNamespace, key), {}, call);
  if (!created.ok() && created.error().code() != Code::kExists) return created.error();
  return {};
}

/// Runs until the modes change or the token asks.
void run_in_modes(runtime::Runtime& runtime, kube::KubeApi& api, const ControllersOptions& options,
                  const ClusterModes& modes, ClusterModesWatch& watch, std::stop_token stop) {
  machineconfig::RenderOptions render_options;
  render_options.version = options.version;
  render_options.mode = modes.render;
  render_options.on_agreement = options.on_agreement;
  machineconfig::RenderController render(runtime, api, std::move(render_options));
  std::optional<rollout::RolloutController> rollout;
  render.start();
  if (modes.rollout == api::Mode::kOwn) rollout.emplace(runtime, api).start();
  watch.wait_while(modes, stop);
  if (rollout) rollout->stop();
  render.stop();
}

/// Two rollouts at once could let more nodes go than maxUnavailable allows.
void exit_overdue() {
  std::fputs("strake: the lease is lost and the controllers did not stop in time; exiting so that only one leads\n",
             stderr);
  std::_Exit(1);
}

/// Of several processes one acts: the holder of the lease.
Status run_when_leading(runtime::Runtime& runtime, kube::KubeApi& api, const ControllersOptions& options,
                        const ClusterModes& modes, ClusterModesWatch& watch, std::stop_token stop) {
  STRAKE_CHECK_OK(ensure_namespace(runtime, api, stop));
  kube::LeaderElectionOptions election;
  election.lease = {std::string(api::kStrakeNamespace), "strake-controller"};
  election.identity = options.identity;
  election.lease_duration = options.lease_duration;
  // The proportions of client-go's defaults: 15, 10 and 2 seconds.
  election.renew_deadline = options.lease_duration * 2 / 3;
  election.retry_period = options.lease_duration * 2 / 15;
  kube::LeaderCallbacks callbacks;
  callbacks.on_started = [&](std::stop_token leading) { run_in_modes(runtime, api, options, modes, watch, leading); };
  callbacks.on_overdue = exit_overdue;
  callbacks.on_new_leader = options.on_leader;
  return kube::LeaderElector(runtime, api, election, callbacks).run(stop);
}

}  // namespace

Status run_controllers(runtime::Runtime& runtime, kube::KubeApi& api, const ControllersOptions& options,
                       std::stop_token stop) {
  ClusterModesWatch watch(runtime, api);
  watch.start();
  Status ended;
  while (ended.ok() && !stop.stop_requested()) {
    const Result<ClusterModes> modes = watch.current(runtime.call_within(kModesKnownWithin, stop));
    if (!modes.ok()) {
      ended = modes.error();
      break;
    }
    if (options.on_modes) options.on_modes(*modes);
    if (modes->acts()) {
      ended = run_when_leading(runtime, api, options, *modes, watch, stop);
    } else {
      // Whoever only looks needs no lease, and taking one would be a write.
      run_in_modes(runtime, api, options, *modes, watch, stop);
    }
  }
  watch.stop();
  return stop.stop_requested() ? Status() : ended;
}

}  // namespace strake::controlplane
