#include "controlplane/cluster_modes.h"

#include <algorithm>

#include "api/kinds.h"

namespace strake::controlplane {

namespace {

constexpr std::string_view kOperatorName = "machine-config";
/// Leases of the processes that would write what we write.
constexpr std::string_view kOperatorLeases[] = {"machine-config", "machine-config-controller"};

kube::InformerOptions told_to(const kube::Hooks& hooks) {
  kube::InformerOptions options;
  options.hooks = hooks;
  return options;
}

kube::InformerOptions leases_of_the_operator(const kube::Hooks& hooks) {
  kube::InformerOptions options = told_to(hooks);
  options.ns = api::kMachineConfigNamespace;
  return options;
}

bool is_held(const kube::Object& lease) { return !lease.text({"spec", "holderIdentity"}).empty(); }

}  // namespace

Result<ClusterModes> decide_modes(const kube::Object* config, bool beside_other_manager) {
  const api::Mode fallback = beside_other_manager ? api::Mode::kObserve : api::Mode::kOwn;
  ClusterModes modes{fallback, fallback, fallback};
  if (config == nullptr) return modes;
  const api::StrakeConfigView view(config->json());
  STRAKE_TRY(const auto render, view.mode(kRenderCapability));
  STRAKE_TRY(const auto rollout, view.mode(kRolloutCapability));
  STRAKE_TRY(const auto joining, view.mode(kJoiningCapability));
  modes.render = render.value_or(fallback);
  modes.rollout = rollout.value_or(fallback);
  modes.joining = joining.value_or(fallback);
  return modes;
}

ClusterModesWatch::ClusterModesWatch(runtime::Runtime& runtime, kube::KubeApi& api, kube::Hooks hooks)
    : changed_(runtime),
      configs_(runtime, api, api::kStrakeConfig, told_to(hooks)),
      operators_(runtime, api, api::kClusterOperator, told_to(hooks)),
      leases_(runtime, api, kube::core::kLease, leases_of_the_operator(hooks)) {
  for (kube::Informer* informer : {&configs_, &operators_, &leases_}) {
    informer->on_change([this](const kube::ObjectKey&) {
      {
        std::lock_guard lock(mutex_);
      }  // so that a waiter is either before its look or asleep
      changed_.notify_all();
    });
  }
}

void ClusterModesWatch::start() {
  for (kube::Informer* informer : {&configs_, &operators_, &leases_}) informer->start();
}

void ClusterModesWatch::stop() {
  for (kube::Informer* informer : {&configs_, &operators_, &leases_}) informer->stop();
}

bool ClusterModesWatch::beside() const {
  if (operators_.get({"", std::string(kOperatorName)})) return true;
  return std::ranges::any_of(kOperatorLeases, [this](std::string_view name) {
    const kube::ObjectPtr lease = leases_.get({std::string(api::kMachineConfigNamespace), std::string(name)});
    return lease && is_held(*lease);
  });
}

Result<ClusterModes> ClusterModesWatch::decide() const {
  const kube::ObjectPtr config = configs_.get({"", std::string(api::kStrakeConfigName)});
  return decide_modes(config.get(), beside());
}

Status ClusterModesWatch::wait_synced(const kube::Call& call) {
  for (kube::Informer* informer : {&configs_, &operators_, &leases_}) {
    const Status synced = informer->wait_synced(call);
    if (synced.ok()) continue;
    const auto why = informer->last_error();
    return Error(why ? *why : synced.error())
        .context(fmt::format("reading {} to know how far Strake may act", informer->resource().plural));
  }
  return {};
}

Result<ClusterModes> ClusterModesWatch::current(const kube::Call& call) {
  STRAKE_CHECK_OK(wait_synced(call));
  return decide();
}

Result<bool> ClusterModesWatch::beside_other_manager(const kube::Call& call) {
  STRAKE_CHECK_OK(wait_synced(call));
  return beside();
}

void ClusterModesWatch::wait_while(const ClusterModes& known, std::stop_token stop) {
  std::unique_lock lock(mutex_);
  // A config that became unreadable counts as a change: what may be written is no longer known.
  changed_.wait(lock, runtime::Call{stop, std::nullopt}, [&] {
    const auto now = decide();
    return !now.ok() || !(*now == known);
  });
}

}  // namespace strake::controlplane
