#include "machineconfig/render/render_controller.h"

#include "api/conditions.h"
#include "api/kinds.h"
#include "api/machine_config.h"
#include "api/machine_config_pool.h"
#include "api/machine_configuration.h"
#include "api/node_annotations.h"
#include "kube/patch.h"
#include "machineconfig/impact/reconcile.h"
#include "machineconfig/merge/select.h"
#include "machineconfig/render/render_gates.h"

namespace strake::machineconfig {

namespace {

using namespace std::chrono_literals;

/// A closed gate opens with a change we watch; this is for the change a watch might lose.
constexpr auto kGateRetry = 5s;
/// A release is published in several writes: gates close for a moment in every update. Only what lasts is trouble.
constexpr auto kGateGrace = 1min;

/// Reasons of the RenderDegraded condition.
constexpr std::string_view kReasonRefused = "RenderRefused";
constexpr std::string_view kReasonIrreconcilable = "Irreconcilable";
constexpr std::string_view kReasonNotWritten = "NotWritten";

const json::Value& spec_or_null(const kube::Object& config) {
  static const json::Value kNone;
  const json::Value* spec = api::spec_of(config);
  return spec == nullptr ? kNone : *spec;
}

/// Not a moment's trouble: the same write will be refused again, and only a person can help.
bool is_refused_for_good(Code code) {
  return code == Code::kDenied || code == Code::kInvalidArgument || code == Code::kUnsupported ||
         code == Code::kExhausted;
}

bool is_rendered(const kube::ObjectKey& key) { return key.name.starts_with(api::kRenderedPrefix); }

}  // namespace

std::string_view to_string(RenderReport::Outcome outcome) {
  switch (outcome) {
    case RenderReport::Outcome::kRendered: return "rendered";
    case RenderReport::Outcome::kWaiting: return "waiting";
    case RenderReport::Outcome::kRefused: return "refused";
    case RenderReport::Outcome::kGone: return "gone";
  }
  return "unknown";
}

RenderController::RenderController(runtime::Runtime& runtime, kube::KubeApi& api, RenderOptions options)
    : runtime_(runtime),
      api_(api),
      options_(std::move(options)),
      frame_(runtime, api, "render", options_.hooks,
             [this](const kube::ObjectKey& key, const kube::Call& call) { return reconcile(key, call); }),
      pools_(frame_.inform(api::kMachineConfigPool)),
      configs_(frame_.inform(api::kMachineConfig)),
      controller_configs_(frame_.inform(api::kControllerConfig)),
      os_image_streams_(frame_.inform(api::kOsImageStream)),
      kubelet_configs_(frame_.inform(api::kKubeletConfig)),
      runtime_configs_(frame_.inform(api::kContainerRuntimeConfig)) {
  frame_.queue().watch(pools_);
  for (kube::Informer& informer : frame_.informers()) {
    if (&informer == &pools_) continue;
    // Noted before the queue is told, so that a worker that is quick sees the burst.
    informer.on_change([this](const kube::ObjectKey& key) {
      if (!is_rendered(key)) frame_.burst().note_change(runtime_.now());
    });
    frame_.queue().watch(informer, [this](const kube::Object&) { return all_pools(); });
  }
}

void RenderController::start() {
  frame_.start(options_.mode == api::Mode::kOwn ? ControllerFrame::Events::kRecord : ControllerFrame::Events::kNone);
}

void RenderController::stop() { frame_.stop(); }

std::vector<kube::ObjectKey> RenderController::all_pools() const {
  std::vector<kube::ObjectKey> keys;
  for (const kube::ObjectPtr& pool : pools_.list()) keys.push_back(pool->key());
  return keys;
}

Result<kube::Reconciled> RenderController::reconcile(const kube::ObjectKey& pool_key, const kube::Call& call) {
  const kube::ObjectPtr pool = pools_.get(pool_key);
  if (!pool) forget_pool(pool_key.name);
  if (!pool || pool->deleting()) return kube::Reconciled{};
  if (const auto wait = frame_.burst().wait_needed(runtime_.now())) return kube::Reconciled{wait};
  if (options_.mode == api::Mode::kOwn) return act(pool, call);
  observe(pool);
  return kube::Reconciled{};
}

RenderInput RenderController::input_for(kube::ObjectPtr pool) const {
  RenderInput input;
  input.pool = std::move(pool);
  if (options_.mode == api::Mode::kOwn) input.version = options_.version;
  input.generators_processed = options_.mode != api::Mode::kOwn || options_.generators_processed;
  input.worker_pool = pools_.get({"", std::string(api::kWorkerPool)});
  input.controller_config = controller_configs_.get({"", std::string(api::kControllerConfigName)});
  input.os_image_stream = os_image_streams_.get({"", std::string(api::kOsImageStreamName)});
  input.configs = configs_.list();
  input.generators = kubelet_configs_.list();
  for (kube::ObjectPtr& config : runtime_configs_.list()) input.generators.push_back(std::move(config));
  return input;
}

Result<kube::Reconciled> RenderController::act(const kube::ObjectPtr& pool, const kube::Call& call) {
  const RenderInput input = input_for(pool);
  const Result<RenderPlan> plan = plan_render(input);
  if (!plan.ok() && plan.error().reason() == kGateClosedReason) return wait_at_gate(*pool, plan.error(), call);
  gate_closed_since_.erase(pool->name());
  if (!plan.ok()) return refuse(*pool, kReasonRefused, plan.error(), call);
  if (const Status reachable = check_reachable(input, *plan, call); !reachable.ok()) {
    return refuse(*pool, kReasonIrreconcilable, reachable.error(), call);
  }
  Status written = ensure_rendered(*pool, *plan, call);
  if (written.ok()) written = point_pool(*pool, *plan, call);
  if (!written.ok() && is_refused_for_good(written.error().code())) {
    return refuse(*pool, kReasonNotWritten, written.error(), call);
  }
  STRAKE_CHECK_OK(std::move(written));
  const std::string ignored = fmt::format("{}", fmt::join(plan->ignored, "; "));
  const std::string reason(ignored.empty() ? "" : api::pool_condition::kReasonConfigsIgnored);
  STRAKE_CHECK_OK(set_render_degraded(*pool, {api::ConditionStatus::kFalse, reason, ignored}, call));
  tell(*pool, {pool->name(), RenderReport::Outcome::kRendered, reason, ignored});
  STRAKE_CHECK_OK(prune(*pool, call));
  return kube::Reconciled{};
}

void RenderController::observe(const kube::ObjectPtr& pool) {
  Agreement found{pool->name(), "", api::MachineConfigPoolView(pool->json()).target(), ""};
  if (const Result<RenderPlan> plan = plan_render(input_for(pool)); plan.ok()) {
    found.ours = plan->rendered.name();
  } else {
    found.reason = plan.error().to_string();
  }
  const auto [known, is_new] = agreements_.try_emplace(pool->name(), found);
  if (!is_new && known->second == found) return;
  known->second = found;
  if (options_.on_agreement) options_.on_agreement(found);
}

/// Nodes can only follow where the way from the pool's present config is open. A present config that was deleted cannot
/// be compared with and holds nothing up.
Status RenderController::check_reachable(const RenderInput& input, const RenderPlan& plan, const kube::Call& call) {
  const std::string target = api::MachineConfigPoolView(input.pool->json()).target();
  if (target.empty() || target == plan.rendered.name()) return {};
  const kube::ObjectPtr present = configs_.get({"", target});
  if (!present) return {};
  const json::Value& present_spec = spec_or_null(*present);
  const json::Value& new_spec = spec_or_null(plan.rendered);
  STRAKE_TRY(auto refusal, check_reconcilable(present_spec, new_spec));
  if (!refusal) return {};
  // Overrides are rare: they are asked for only when something would be refused.
  ReconcileOverrides overrides;
  const auto settings = api_.get(api::kMachineConfiguration, {"", std::string(api::kMachineConfigurationName)}, call);
  if (!settings.ok() && settings.error().code() != Code::kNotFound) return settings.error();
  if (settings.ok()) {
    STRAKE_TRY(overrides, reconcile_overrides(settings->json()));
    STRAKE_TRY(refusal, check_reconcilable(present_spec, new_spec, overrides));
    if (!refusal) return {};
  }
  STRAKE_TRY(const auto components, select_configs(*input.pool, input.configs));
  return Error(Code::kInvalidArgument,
               refusal_message({target, present_spec, plan.rendered.name(), components, overrides}, *refusal));
}

Result<kube::Reconciled> RenderController::wait_at_gate(const kube::Object& pool, const Error& gate,
                                                        const kube::Call& call) {
  const auto since = gate_closed_since_.try_emplace(pool.name(), runtime_.now()).first->second;
  const bool lasting = runtime_.now() - since >= kGateGrace;
  if (lasting) {
    tell(pool, {pool.name(), RenderReport::Outcome::kWaiting, std::string(kGateClosedReason), gate.to_string()});
  }
  STRAKE_CHECK_OK(
      set_render_degraded(pool,
                          {lasting ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse,
                           std::string(kGateClosedReason), fmt::format("Waiting to render: {}", gate.to_string())},
                          call));
  return kube::Reconciled{kGateRetry};
}

Error RenderController::refuse(const kube::Object& pool, std::string_view reason, const Error& why,
                               const kube::Call& call) {
  tell(pool, {pool.name(), RenderReport::Outcome::kRefused, std::string(reason), why.to_string()});
  const Status said =
      set_render_degraded(pool,
                          {api::ConditionStatus::kTrue, std::string(reason),
                           fmt::format("Failed to render configuration for pool {}: {}", pool.name(), why.to_string())},
                          call);
  return said.ok() ? why : said.error();
}

void RenderController::tell(const kube::Object& pool, RenderReport report) {
  const auto known = reports_.find(pool.name());
  if (known != reports_.end() && known->second == report) return;
  if (!report.message.empty()) {
    frame_.events().record(pool, kube::EventType::kWarning, report.reason, report.message);
  }
  if (options_.on_report) options_.on_report(report);
  reports_.insert_or_assign(pool.name(), std::move(report));
}

void RenderController::forget_pool(const std::string& pool) {
  gate_closed_since_.erase(pool);
  agreements_.erase(pool);
  if (reports_.erase(pool) == 0 || !options_.on_report) return;
  options_.on_report({pool, RenderReport::Outcome::kGone, "", ""});
}

Status RenderController::ensure_rendered(const kube::Object& pool, const RenderPlan& plan, const kube::Call& call) {
  const kube::Object& rendered = plan.rendered;
  const kube::ObjectPtr known = configs_.get(rendered.key());
  if (!known) {
    const auto created = api_.create(api::kMachineConfig, rendered, {}, call);
    if (!created.ok() && created.error().code() == Code::kExists) return {};
    if (!created.ok()) return Error(created.error()).context(fmt::format("creating {}", rendered.name()));
    frame_.events().record(pool, kube::EventType::kNormal, "RenderedConfigGenerated",
                           fmt::format("{} generated from {} MachineConfigs", rendered.name(), plan.sources.size()));
    if (plan.os_image_overridden) {
      frame_.events().record(pool, kube::EventType::kNormal, "OSImageURLOverridden",
                             fmt::format("osImageURL of {} is not the release's", rendered.name()));
    }
    return {};
  }
  // A hand edit of a rendered config is taken back: its name promises its content.
  json::Object own{
      {"spec", spec_or_null(rendered)},
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

Result<RenderedUsers> RenderController::read_users(const kube::Call& call) {
  RenderedUsers users;
  const std::pair<const kube::Resource*, std::vector<kube::Object>*> kinds[] = {
      {&api::kMachineConfigPool, &users.pools},
      {&kube::core::kNode, &users.nodes},
      {&api::kMachineConfigNode, &users.machine_config_nodes},
      {&api::kMachineOsBuild, &users.os_builds}};
  for (const auto& [resource, objects] : kinds) {
    STRAKE_TRY_CONTEXT(kube::ListPage page, api_.list(*resource, "", {}, call), "listing {}", resource->plural);
    *objects = std::move(page.items);
  }
  return users;
}

Status RenderController::prune(const kube::Object& pool, const kube::Call& call) {
  const std::vector<kube::ObjectPtr> configs = configs_.list();
  const std::size_t keep = options_.rendered_configs_kept;
  if (plan_prune(pool, configs, {}, keep).empty()) return {};
  // Read after the rendered configs: a reference made since is seen. Only this worker points pools at configs.
  STRAKE_TRY(const RenderedUsers users, read_users(call));
  for (const kube::Object* config : plan_prune(pool, configs, rendered_configs_in_use(users), keep)) {
    kube::DeleteOptions exactly_this;
    exactly_this.uid = config->uid();
    exactly_this.resource_version = config->resource_version();
    const auto removed = api_.remove(api::kMachineConfig, config->key(), exactly_this, call);
    if (removed.ok() || removed.error().code() == Code::kNotFound || removed.error().code() == Code::kConflict)
      continue;
    return Error(removed.error()).context(fmt::format("removing {}, which nothing uses", config->name()));
  }
  return {};
}

Status RenderController::set_render_degraded(const kube::Object& pool, const Verdict& verdict, const kube::Call& call) {
  const api::Condition condition{std::string(api::pool_condition::kRenderDegraded), verdict.status, verdict.reason,
                                 verdict.message, ""};
  json::Value changed = pool.json();
  if (!api::set_condition(changed, condition, runtime_.wall_now())) return {};
  // The list of conditions is shared with the rollout controller: read it fresh and refuse to write over a newer one.
  return kube::retry_on_conflict(runtime_, call, [&]() -> Status {
    STRAKE_TRY(kube::Object fresh, api_.get(api::kMachineConfigPool, pool.key(), call));
    json::Value edited = fresh.json();
    if (!api::set_condition(edited, condition, runtime_.wall_now())) return {};
    const json::Value own = api::conditions_status(edited);
    const auto patched =
        kube::apply_status_patch(api_, api::kMachineConfigPool, fresh, own, kube::IfChanged::kRefuse, call);
    if (!patched.ok())
      return Error(patched.error()).context(fmt::format("setting RenderDegraded of pool {}", pool.name()));
    return {};
  });
}

}  // namespace strake::machineconfig
