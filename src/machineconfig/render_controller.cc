#include "machineconfig/render_controller.h"

#include "api/conditions.h"
#include "api/kinds.h"
#include "api/machine_config.h"
#include "api/machine_config_pool.h"
#include "kube/patch.h"

namespace strake::machineconfig {

namespace {

using namespace std::chrono_literals;

/// A closed gate opens with a change we watch; this is for the change a watch might lose.
constexpr auto kGateRetry = 5s;

kube::InformerOptions render_informer_options() {
  kube::InformerOptions options;
  options.resync = 5min;
  return options;
}

kube::ControllerOptions render_controller_options() {
  kube::ControllerOptions options;
  options.name = "render";
  options.rate_limits.longest_retry = 30s;
  return options;
}

}  // namespace

RenderController::RenderController(runtime::Runtime& runtime, kube::KubeApi& api, std::string version)
    : runtime_(runtime),
      api_(api),
      version_(std::move(version)),
      pools_(runtime, api, api::kMachineConfigPool, render_informer_options()),
      configs_(runtime, api, api::kMachineConfig, render_informer_options()),
      controller_configs_(runtime, api, api::kControllerConfig, render_informer_options()),
      os_image_streams_(runtime, api, api::kOsImageStream, render_informer_options()),
      controller_(runtime, render_controller_options(),
                  [this](const kube::ObjectKey& key, const kube::Call& call) { return reconcile(key, call); }) {
  const auto every_pool = [this](const kube::Object&) { return all_pools(); };
  controller_.watch(pools_);
  controller_.watch(configs_, every_pool);
  controller_.watch(controller_configs_, every_pool);
  controller_.watch(os_image_streams_, every_pool);
}

void RenderController::start() {
  for (kube::Informer* informer : {&pools_, &configs_, &controller_configs_, &os_image_streams_}) informer->start();
  controller_.start();
}

void RenderController::stop() {
  controller_.stop();
  for (kube::Informer* informer : {&pools_, &configs_, &controller_configs_, &os_image_streams_}) informer->stop();
}

std::vector<kube::ObjectKey> RenderController::all_pools() const {
  std::vector<kube::ObjectKey> keys;
  for (const kube::ObjectPtr& pool : pools_.list()) keys.push_back(pool->key());
  return keys;
}

RenderInput RenderController::input_for(kube::ObjectPtr pool) const {
  RenderInput input;
  input.pool = std::move(pool);
  input.version = version_;
  input.worker_pool = pools_.get({"", std::string(api::kWorkerPool)});
  input.controller_config = controller_configs_.get({"", std::string(api::kControllerConfigName)});
  input.os_image_stream = os_image_streams_.get({"", std::string(api::kOsImageStreamName)});
  input.configs = configs_.list();
  return input;
}

Result<kube::Reconciled> RenderController::reconcile(const kube::ObjectKey& pool_key, const kube::Call& call) {
  const kube::ObjectPtr pool = pools_.get(pool_key);
  if (!pool || pool->deleting()) return kube::Reconciled{};
  const Result<RenderPlan> plan = plan_render(input_for(pool));
  if (!plan.ok()) {
    if (plan.error().code() == Code::kUnavailable) return kube::Reconciled{kGateRetry};
    STRAKE_CHECK_OK(set_render_degraded(
        *pool, fmt::format("Failed to render configuration for pool {}: {}", pool->name(), plan.error().to_string()),
        call));
    return plan.error();
  }
  STRAKE_CHECK_OK(ensure_rendered(plan->rendered, call));
  STRAKE_CHECK_OK(point_pool(*pool, *plan, call));
  STRAKE_CHECK_OK(set_render_degraded(*pool, "", call));
  return kube::Reconciled{};
}

Status RenderController::ensure_rendered(const kube::Object& rendered, const kube::Call& call) {
  const kube::ObjectPtr known = configs_.get(rendered.key());
  if (!known) {
    const auto created = api_.create(api::kMachineConfig, rendered, {}, call);
    if (created.ok() || created.error().code() == Code::kExists) return {};
    return Error(created.error()).context(fmt::format("creating {}", rendered.name()));
  }
  // A hand edit of a rendered config is taken back: its name promises its content.
  json::Object own{
      {"spec", *json::find(rendered.json(), {"spec"})},
      {"metadata", json::Object{{"annotations", *json::find(rendered.json(), {"metadata", "annotations"})}}}};
  const auto restored = kube::merge_patch_own_fields(api_, api::kMachineConfig, *known, json::Value(std::move(own)),
                                                     kube::IfChanged::kRefuse, {}, call);
  if (!restored.ok()) return Error(restored.error()).context(fmt::format("restoring {}", rendered.name()));
  return {};
}

Status RenderController::point_pool(const kube::Object& pool, const RenderPlan& plan, const kube::Call& call) {
  json::Value own = json::Object{};
  api::MachineConfigPoolEdit(own).set_target(plan.rendered.name(), plan.sources);
  const auto patched =
      kube::merge_patch_own_fields(api_, api::kMachineConfigPool, pool, own, kube::IfChanged::kRefuse, {}, call);
  if (!patched.ok())
    return Error(patched.error()).context(fmt::format("pointing pool {} at {}", pool.name(), plan.rendered.name()));
  return {};
}

Status RenderController::set_render_degraded(const kube::Object& pool, const std::string& message,
                                             const kube::Call& call) {
  json::Value changed = pool.json();
  const auto status = message.empty() ? api::ConditionStatus::kFalse : api::ConditionStatus::kTrue;
  const api::Condition condition{std::string(api::pool_condition::kRenderDegraded), status, "", message, ""};
  if (!api::set_condition(changed, condition, runtime_.wall_now())) return {};
  // The list of conditions is shared with the rollout controller: read it fresh and refuse to write over a newer one.
  return kube::retry_on_conflict(runtime_, call, [&]() -> Status {
    STRAKE_TRY(kube::Object fresh, api_.get(api::kMachineConfigPool, pool.key(), call));
    json::Value edited = fresh.json();
    if (!api::set_condition(edited, condition, runtime_.wall_now())) return {};
    const json::Value own = json::Object{{"conditions", *json::find(edited, {"status", "conditions"})}};
    const auto patched =
        kube::apply_status_patch(api_, api::kMachineConfigPool, fresh, own, kube::IfChanged::kRefuse, call);
    if (!patched.ok())
      return Error(patched.error()).context(fmt::format("setting RenderDegraded of pool {}", pool.name()));
    return {};
  });
}

}  // namespace strake::machineconfig
