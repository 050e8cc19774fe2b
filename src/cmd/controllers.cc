#include "cmd/controllers.h"

#include <cstdio>
#include <cstdlib>

#include "api/kinds.h"
#include "cmd/version.h"
#include "kube/leader_election.h"
#include "machineconfig/render_controller.h"
#include "rollout/rollout_controller.h"

namespace strake::cmd {

namespace {

using namespace std::chrono_literals;

constexpr runtime::Duration kForever = std::chrono::hours(24 * 365 * 10);

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

void run_while_leading(runtime::Runtime& runtime, kube::KubeApi& api, std::stop_token stop) {
  machineconfig::RenderController render(runtime, api, std::string(kVersion));
  rollout::RolloutController rollout(runtime, api);
  render.start();
  rollout.start();
  (void)runtime.sleep(kForever, stop);
  rollout.stop();
  render.stop();
}

/// Two rollouts at once could let more nodes go than maxUnavailable allows.
void exit_overdue() {
  std::fputs("strake: the lease is lost and the controllers did not stop in time; exiting so that only one leads\n",
             stderr);
  std::_Exit(1);
}

}  // namespace

Status run_controllers(runtime::Runtime& runtime, kube::KubeApi& api, const ControllersOptions& options,
                       std::stop_token stop) {
  STRAKE_CHECK_OK(ensure_namespace(runtime, api, stop));
  kube::LeaderElectionOptions election;
  election.lease = {std::string(api::kStrakeNamespace), "strake-controller"};
  election.identity = options.identity;
  election.lease_duration = options.lease_duration;
  // The proportions of client-go's defaults: 15, 10 and 2 seconds.
  election.renew_deadline = options.lease_duration * 2 / 3;
  election.retry_period = options.lease_duration * 2 / 15;
  kube::LeaderCallbacks callbacks;
  callbacks.on_started = [&](std::stop_token leading) { run_while_leading(runtime, api, leading); };
  callbacks.on_overdue = exit_overdue;
  callbacks.on_new_leader = options.on_leader;
  return kube::LeaderElector(runtime, api, election, callbacks).run(stop);
}

}  // namespace strake::cmd
