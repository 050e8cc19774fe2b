// How far Strake may act in this cluster: what StrakeConfig/cluster says for each capability, else `observe` beside a
// Machine Config Operator and `own` without one.
#pragma once

#include <functional>
#include <mutex>
#include <stop_token>

#include "api/strake_config.h"
#include "base/runtime.h"
#include "kube/informer.h"
#include "kube/kube_api.h"

namespace strake::controlplane {

/// Names of the capabilities in StrakeConfig spec.modes.
inline constexpr std::string_view kRenderCapability = "render";
inline constexpr std::string_view kRolloutCapability = "rollout";
/// What new machines need to join: the config server's authority and certificate, and the stubs.
inline constexpr std::string_view kJoiningCapability = "joining";

struct ClusterModes {
  api::Mode render = api::Mode::kObserve;
  api::Mode rollout = api::Mode::kObserve;
  api::Mode joining = api::Mode::kObserve;

  /// Something may be written, so one process at a time must do it.
  bool acts() const { return render == api::Mode::kOwn || rollout == api::Mode::kOwn || joining == api::Mode::kOwn; }
  bool operator==(const ClusterModes&) const = default;
};

/// `config`: StrakeConfig/cluster, or nullptr. A mode nobody knows is an error: guessing could write where nothing may.
Result<ClusterModes> decide_modes(const kube::Object* config, bool beside_other_manager);

/// Follows the objects that decide. Beside another manager means: its ClusterOperator exists, or one of its processes
/// holds a lease.
class ClusterModesWatch {
 public:
  ClusterModesWatch(runtime::Runtime& runtime, kube::KubeApi& api, kube::Hooks hooks = {});
  void start();
  void stop();

  /// The modes now, once everything that decides was read.
  Result<ClusterModes> current(const kube::Call& call);
  /// Whether a Machine Config Operator runs here.
  Result<bool> beside_other_manager(const kube::Call& call);
  /// Returns when the modes are no longer `known`, or on stop.
  void wait_while(const ClusterModes& known, std::stop_token stop);

 private:
  Status wait_synced(const kube::Call& call);
  bool beside() const;
  Result<ClusterModes> decide() const;

  std::mutex mutex_;
  runtime::Condition changed_;
  kube::Informer configs_;
  kube::Informer operators_;
  kube::Informer leases_;
};

}  // namespace strake::controlplane
