#include "controlplane/controllers.h"

#include <optional>

#include "api/kinds.h"
#include "controlplane/cluster_modes.h"
#include "kube/leader_election.h"
#include "net/retry.h"

namespace strake::controlplane {

namespace {

using namespace std::chrono_literals;

constexpr runtime::Duration kModesKnownWithin = 1min;
constexpr net::BackoffPolicy kStartBackoff{1s, 2.0, 1min, 0.5};

/// On Kubernetes deploy/rbac makes the namespace; the embedded store starts without it.
Status ensure_namespace(runtime::Runtime& runtime, kube::KubeApi& api, std::stop_token stop) {
  const kube::Call call = runtime.call_within(1min, stop);
  const kube::ObjectKey key{"", std::string(api::kStrakeNamespace)};
  const auto found = api.get(kube::core::kNamespace, key, call);
  if (found.ok()) return {};
  if (found.error().code() != Code::kNotFound) return Error(found.error()).context("reading namespace strake-system");
  const auto created = api.create(kube::core::kNamespace, kube::Object(kube::core::kNamespace, key), {}, call);
  if (!created.ok() && created.error().code() != Code::kExists)
    return Error(created.error()).context("creating namespace strake-system");
  return {};
}

/// How far to go, and whether the server wants to be told what agents may do.
struct ActingModes {
  ClusterModes modes;
  bool keep_agent_rights = false;
};

Result<ActingModes> acting_modes(runtime::Runtime& runtime, kube::KubeApi& api, ClusterModesWatch& watch,
                                 std::stop_token stop) {
  ActingModes acting;
  STRAKE_TRY(acting.modes, watch.current(runtime.call_within(kModesKnownWithin, stop)));
  if (acting.modes.rollout == api::Mode::kOwn) {
    STRAKE_TRY(acting.keep_agent_rights, rollout::serves_roles(api, runtime.call_within(1min, stop)));
  }
  return acting;
}

/// Runs until the modes change or the token asks.
void run_in_modes(runtime::Runtime& runtime, kube::KubeApi& api, const ControllersOptions& options,
                  const ActingModes& acting, ClusterModesWatch& watch, std::stop_token stop) {
  const ClusterModes& modes = acting.modes;
  machineconfig::RenderOptions render_options;
  render_options.version = options.version;
  render_options.mode = modes.render;
  render_options.on_agreement = options.on_agreement;
  render_options.hooks = options.hooks;
  render_options.on_report = options.on_render;
  // Beside another manager what is generated is that manager's, and not one write of ours.
  const bool generates = modes.render == api::Mode::kOwn;
  render_options.generators_processed = generates;
  machineconfig::RenderController render(runtime, api, std::move(render_options));
  std::optional<machineconfig::TemplateController> templates;
  std::optional<machineconfig::GeneratorController> generator;
  std::optional<rollout::RolloutController> rollout;
  std::optional<rollout::DrainController> drain;
  std::optional<stub::IdentityController> identity;
  if (generates) {
    const machineconfig::GeneratorOptions generator_options{options.version, options.hooks, options.on_generate};
    templates.emplace(runtime, api, generator_options).start();
    generator.emplace(runtime, api, generator_options).start();
  }
  render.start();
  if (modes.rollout == api::Mode::kOwn) {
    rollout::RolloutOptions rollout_options{options.hooks, options.on_pool};
    rollout_options.keep_agent_rights = acting.keep_agent_rights;
    rollout.emplace(runtime, api, std::move(rollout_options)).start();
    drain.emplace(runtime, api, rollout::DrainOptions{options.hooks, options.on_drain}).start();
  }
  if (modes.joining == api::Mode::kOwn) {
    stub::IdentityOptions identity_options;
    identity_options.place = options.config_server;
    identity_options.hooks = options.hooks;
    identity_options.on_report = options.on_joining;
    identity_options.on_done = options.on_joining_done;
    identity.emplace(runtime, api, std::move(identity_options)).start();
  }
  watch.wait_while(acting.modes, stop);
  if (identity) identity->stop();
  if (drain) drain->stop();
  if (rollout) rollout->stop();
  render.stop();
  if (generator) generator->stop();
  if (templates) templates->stop();
}

/// Of several processes one acts: the holder of the lease.
Status run_when_leading(runtime::Runtime& runtime, kube::KubeApi& api, const ControllersOptions& options,
                        const ActingModes& acting, ClusterModesWatch& watch, std::stop_token stop) {
  STRAKE_CHECK_OK(ensure_namespace(runtime, api, stop));
  kube::LeaderElectionOptions election;
  election.lease = {std::string(api::kStrakeNamespace), "strake-controller"};
  election.identity = options.identity;
  election.lease_duration = options.lease_duration;
  // The proportions of client-go's defaults: 15, 10 and 2 seconds.
  election.renew_deadline = options.lease_duration * 2 / 3;
  election.retry_period = options.lease_duration * 2 / 15;
  kube::LeaderCallbacks callbacks;
  callbacks.on_started = [&](std::stop_token leading) { run_in_modes(runtime, api, options, acting, watch, leading); };
  callbacks.on_stopped = options.on_stopped_leading;
  callbacks.on_overdue = options.on_overdue;
  callbacks.on_new_leader = options.on_leader;
  callbacks.on_failure = options.on_lease_failure;
  callbacks.on_recovered = options.on_lease_recovered;
  return kube::LeaderElector(runtime, api, election, callbacks).run(stop);
}

}  // namespace

void run_controllers(runtime::Runtime& runtime, kube::KubeApi& api, const ControllersOptions& options,
                     std::stop_token stop) {
  ClusterModesWatch watch(runtime, api, options.hooks);
  watch.start();
  for (unsigned failures = 0; !stop.stop_requested();) {
    const Result<ActingModes> acting = acting_modes(runtime, api, watch, stop);
    Status ran;
    if (!acting.ok()) {
      ran = acting.error();
    } else {
      if (options.on_modes) options.on_modes(acting->modes);
      if (acting->modes.acts()) {
        ran = run_when_leading(runtime, api, options, *acting, watch, stop);
      } else {
        // Whoever only looks needs no lease, and taking one would be a write.
        run_in_modes(runtime, api, options, *acting, watch, stop);
      }
    }
    if (ran.ok()) {
      failures = 0;
      continue;
    }
    if (stop.stop_requested()) break;
    const auto pause = kStartBackoff.delay(++failures, runtime.random().unit(), ran.error());
    if (options.on_failure) options.on_failure(ran.error(), pause);
    if (!runtime.sleep(pause, stop).ok()) break;
  }
  watch.stop();
}

}  // namespace strake::controlplane
