// The render controller: keeps every pool's rendered config current.
//
// A thin executor around plan_render: reads its informers, creates the rendered MachineConfig, points the pool at it,
// and removes rendered configs nobody uses. A render that is refused keeps the old config and says why in the pool's
// RenderDegraded condition. Changes that come in a burst are rendered once.
//
// In mode `observe` it writes nothing at all: it renders beside another manager and tells whether the two agree.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "api/conditions.h"
#include "api/strake_config.h"
#include "base/runtime.h"
#include "kube/kube_api.h"
#include "machineconfig/control/controller_frame.h"
#include "machineconfig/render/prune.h"
#include "machineconfig/render/render.h"

namespace strake::machineconfig {

/// What observing one pool came to.
struct Agreement {
  std::string pool;
  std::string ours;    ///< the name we render; empty when we cannot
  std::string theirs;  ///< the name the pool points at
  std::string reason;  ///< why there is no name of ours

  bool agrees() const { return !ours.empty() && ours == theirs; }
  bool operator==(const Agreement&) const = default;
};

/// What rendering one pool came to, for logs and metrics.
struct RenderReport {
  enum class Outcome { kRendered, kWaiting, kRefused, kGone };
  std::string pool;
  Outcome outcome = Outcome::kRendered;
  std::string reason{};   ///< of the RenderDegraded condition
  std::string message{};  ///< why it waits or was refused; what was left out

  bool operator==(const RenderReport&) const = default;
};
std::string_view to_string(RenderReport::Outcome outcome);

struct RenderOptions {
  /// Marks what this program generates; see GateInput.
  std::string version;
  /// `assist` observes as well: another manager that renders leaves nothing undone.
  api::Mode mode = api::Mode::kOwn;
  /// In mode own: a GeneratorController runs beside, so that what it makes is waited for.
  bool generators_processed = false;
  std::size_t rendered_configs_kept = kRenderedConfigsKept;
  kube::Hooks hooks{};
  /// Told when observing comes to a new result. Called by the worker; must not wait.
  std::function<void(const Agreement&)> on_agreement{};
  /// Told when rendering a pool comes to something else than the last time. Called by the worker; must not wait.
  std::function<void(const RenderReport&)> on_report{};
};

class RenderController {
 public:
  RenderController(runtime::Runtime& runtime, kube::KubeApi& api, RenderOptions options);

  void start();
  void stop();
  /// Pools whose last render failed, and why.
  std::map<kube::ObjectKey, Error> errors() const { return frame_.queue().errors(); }

 private:
  /// Of the RenderDegraded condition.
  struct Verdict {
    api::ConditionStatus status;
    std::string reason;
    std::string message;
  };

  Result<kube::Reconciled> reconcile(const kube::ObjectKey& pool_key, const kube::Call& call);
  Result<kube::Reconciled> act(const kube::ObjectPtr& pool, const kube::Call& call);
  void observe(const kube::ObjectPtr& pool);
  RenderInput input_for(kube::ObjectPtr pool) const;
  Status check_reachable(const RenderInput& input, const RenderPlan& plan, const kube::Call& call);
  /// Tells hook and events, when it is news.
  void tell(const kube::Object& pool, RenderReport report);
  void forget_pool(const std::string& pool);
  Result<kube::Reconciled> wait_at_gate(const kube::Object& pool, const Error& gate, const kube::Call& call);
  /// Says in the pool why; returns what reconcile is to return.
  Error refuse(const kube::Object& pool, std::string_view reason, const Error& why, const kube::Call& call);
  Status ensure_rendered(const kube::Object& pool, const RenderPlan& plan, const kube::Call& call);
  Status point_pool(const kube::Object& pool, const RenderPlan& plan, const kube::Call& call);
  Result<RenderedUsers> read_users(const kube::Call& call);
  Status prune(const kube::Object& pool, const kube::Call& call);
  Status set_render_degraded(const kube::Object& pool, const Verdict& verdict, const kube::Call& call);
  std::vector<kube::ObjectKey> all_pools() const;

  runtime::Runtime& runtime_;
  kube::KubeApi& api_;
  const RenderOptions options_;
  std::map<std::string, runtime::TimePoint> gate_closed_since_;  ///< by pool; the worker's own
  std::map<std::string, Agreement> agreements_;                  ///< by pool; the worker's own
  std::map<std::string, RenderReport> reports_;                  ///< by pool; the worker's own
  ControllerFrame frame_;
  kube::Informer& pools_;
  kube::Informer& configs_;
  kube::Informer& controller_configs_;
  kube::Informer& os_image_streams_;
  kube::Informer& kubelet_configs_;
  kube::Informer& runtime_configs_;
};

}  // namespace strake::machineconfig
