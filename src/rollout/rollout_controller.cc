#include "rollout/rollout_controller.h"

#include <algorithm>

#include "api/kinds.h"
#include "api/machine_config.h"
#include "kube/patch.h"
#include "kube/unknown_effect.h"
#include "rollout/cluster_plan.h"

namespace strake::rollout {

namespace {

using namespace std::chrono_literals;

/// Somebody else wrote the pool in the same moment.
constexpr auto kAfterConflict = 1s;

kube::InformerOptions rollout_informer_options(const kube::Hooks& hooks) {
  kube::InformerOptions options;
  options.resync = 5min;
  options.hooks = hooks;
  return options;
}

kube::InformerOptions node_informer_options(const kube::Hooks& hooks) {
  kube::InformerOptions options = rollout_informer_options(hooks);
  options.reduce = api::slim_node;
  return options;
}

kube::ControllerOptions rollout_controller_options(const RolloutOptions& options) {
  kube::ControllerOptions controller;
  controller.name = "rollout";
  controller.workers = 1;  // one decision at a time: capacity is counted across the whole pool
  controller.rate_limits.longest_retry = 30s;
  controller.hooks = options.hooks;
  return controller;
}

kube::EventRecorderOptions rollout_event_options(const kube::Hooks& hooks) {
  kube::EventRecorderOptions options;
  options.component = "strake-rollout";
  options.hooks = hooks;
  return options;
}

/// Not a moment's trouble: the same write will be refused again.
bool is_refusal(Code code) {
  return code == Code::kDenied || code == Code::kInvalidArgument || code == Code::kUnsupported;
}

/// Keys of the queue that are about the rights of a node's agent; pools have no namespace.
constexpr std::string_view kRightsKeys = "agent-rights";

std::vector<kube::ObjectKey> rights_keys(const std::string& node) {
  if (node.empty()) return {};
  return {{std::string(kRightsKeys), node}};
}

bool same_view(const kube::Object& before, const kube::Object& now) {
  return api::node_view(before) == api::node_view(now);
}

}  // namespace

PoolReport report_of(const PoolPlan& plan) {
  PoolReport report;
  report.pool = plan.pool;
  report.degraded = count_nodes(plan).degraded > 0;
  for (const Trouble& trouble : plan.troubles) report.degraded = report.degraded || degrades_pool(trouble.kind);
  for (const NodePlan& node : plan.nodes) ++report.nodes[node.action];
  report.troubles = plan.troubles;
  return report;
}

RolloutController::RolloutController(runtime::Runtime& runtime, kube::KubeApi& api, RolloutOptions options)
    : runtime_(runtime),
      api_(api),
      options_(std::move(options)),
      pools_(runtime, api, api::kMachineConfigPool, rollout_informer_options(options_.hooks)),
      nodes_(runtime, api, kube::core::kNode, node_informer_options(options_.hooks)),
      configs_(runtime, api, api::kMachineConfig, rollout_informer_options(options_.hooks)),
      machine_configurations_(runtime, api, api::kMachineConfiguration, rollout_informer_options(options_.hooks)),
      events_(runtime, api, rollout_event_options(options_.hooks)),
      controller_(runtime, rollout_controller_options(options_),
                  [this](const kube::ObjectKey& key, const kube::Call& call) { return reconcile(key, call); }) {
  const auto every_pool = [this](const kube::Object&) { return all_pool_keys(); };
  const auto if_rendered = [this](const kube::Object& config) {
    return config.name().starts_with(api::kRenderedPrefix) ? all_pool_keys() : std::vector<kube::ObjectKey>();
  };
  controller_.watch(pools_);
  controller_.watch(nodes_, every_pool, kube::spec_changed, same_view);
  controller_.watch(configs_, if_rendered);
  controller_.watch(machine_configurations_, every_pool);
  if (options_.keep_agent_rights) watch_agent_rights();
}

void RolloutController::watch_agent_rights() {
  rights_.emplace(runtime_, api_, options_.hooks);
  const auto any_change = [](const kube::Object&, const kube::Object&) { return true; };
  controller_.watch(nodes_, [](const kube::Object& node) { return rights_keys(node.name()); }, any_change, same_view);
  const auto of_node = [](const kube::Object& object) { return rights_keys(AgentRights::node_of(object)); };
  controller_.watch(rights_->roles(), of_node, any_change);
  controller_.watch(rights_->bindings(), of_node, any_change);
}

std::vector<kube::Informer*> RolloutController::informers() {
  std::vector<kube::Informer*> all = {&pools_, &nodes_, &configs_, &machine_configurations_};
  if (rights_) all.insert(all.end(), {&rights_->roles(), &rights_->bindings()});
  return all;
}

void RolloutController::start() {
  events_.start();
  for (kube::Informer* informer : informers()) informer->start();
  controller_.start();
}

void RolloutController::stop() {
  controller_.stop();
  for (kube::Informer* informer : informers()) informer->stop();
  events_.stop();
}

std::vector<kube::ObjectKey> RolloutController::all_pool_keys() const {
  std::vector<kube::ObjectKey> keys;
  for (const kube::ObjectPtr& pool : pools_.list()) keys.push_back(pool->key());
  return keys;
}

Result<kube::Reconciled> RolloutController::reconcile_rights(const std::string& node, const kube::Call& call) {
  if (const kube::ObjectPtr known = nodes_.get({"", node})) {
    STRAKE_CHECK_OK(rights_->keep(api::node_view(*known), call));
  } else {
    rights_->forget(node);
  }
  return kube::Reconciled{};
}

Result<kube::Reconciled> RolloutController::reconcile(const kube::ObjectKey& pool_key, const kube::Call& call) {
  if (pool_key.ns == kRightsKeys) return reconcile_rights(pool_key.name, call);
  const kube::ObjectPtr pool = pools_.get(pool_key);
  if (!pool) {
    forget_pool(pool_key.name);
    return kube::Reconciled{};
  }
  PoolMemory& memory = memory_[pool_key.name];
  STRAKE_CHECK_OK(ledger_.resolve_doubts(api_, call));
  auto planned = plan(*pool, memory, call);
  if (!planned.ok()) {
    if (is_refusal(planned.error().code())) {
      events_.record(*pool, kube::EventType::kWarning, "PlanFailed", planned.error().to_string());
    }
    return std::move(planned).error().context(fmt::format("planning pool {}", pool_key.name));
  }
  const Status targeted = target_nodes(*pool, *planned, call);
  tell(*pool, *planned, memory);
  const Status said = write_status(*planned, *pool, call);
  if (!targeted.ok()) return targeted.error();
  if (!said.ok() && said.error().code() == Code::kConflict) return kube::Reconciled{kAfterConflict};
  if (!said.ok()) return said.error();
  return kube::Reconciled{};
}

Result<PoolPlan> RolloutController::plan(const kube::Object& pool, PoolMemory& memory, const kube::Call& call) {
  const PoolMembers members = members_.sort_out(pools_.list(), ledger_.update(nodes_.list()));

  PoolInput input{.pool = pool, .nodes = members.of(pool.name()), .configs = memory.configs};
  input.selector_trouble = members_.selectors().trouble_of(pool.name());
  input.contested = members.contested(pool.name());
  const kube::ObjectPtr settings = machine_configurations_.get({"", std::string(api::kMachineConfigurationName)});
  auto policy = machineconfig::disruption_policy_of(settings.get());
  if (policy.ok()) {
    memory.configs.set_policy(*std::move(policy));
  } else {
    input.policy_trouble = policy.error().to_string();
  }
  STRAKE_CHECK_OK(load_configs(configs_needed(pool, input.nodes), memory.configs, call));
  return plan_pool(input, options_.policy);
}

Status RolloutController::load_configs(const std::set<std::string>& names, ConfigBook& book, const kube::Call& call) {
  book.keep_only(names);
  for (const std::string& name : names) {
    kube::ObjectPtr config = configs_.get({"", name});
    if (!config) {
      // A pool or node that names it may have arrived before it.
      auto read = api_.get(api::kMachineConfig, {"", name}, call);
      if (!read.ok() && read.error().code() != Code::kNotFound) {
        return Error(read.error()).context(fmt::format("reading MachineConfig {}", name));
      }
      if (read.ok()) config = std::make_shared<const kube::Object>(*std::move(read));
    }
    book.put(name, std::move(config));
  }
  return {};
}

Status RolloutController::target_nodes(const kube::Object& pool, PoolPlan& plan, const kube::Call& call) {
  std::vector<std::string> targeted;
  Status failed;
  for (const NodePlan& node : plan.nodes) {
    if (node.action != NodeAction::kTarget) continue;
    if (failed = target_node(node, plan.target, call); !failed.ok()) break;
    targeted.push_back(node.node->name);
  }
  if (targeted.size() == 1) {
    events_.record(pool, kube::EventType::kNormal, "SetDesiredConfig",
                   fmt::format("Targeted node {} to MachineConfig: {}", targeted.front(), plan.target));
  } else if (!targeted.empty()) {
    events_.record(pool, kube::EventType::kNormal, "SetDesiredConfig",
                   fmt::format("Set target for {} nodes to MachineConfig: {}", targeted.size(), plan.target));
  }
  if (!failed.ok() && is_refusal(failed.error().code())) {
    plan.troubles.push_back({TroubleKind::kCannotWrite, failed.error().to_string()});
  }
  return failed;
}

Status RolloutController::target_node(const NodePlan& node, const std::string& config, const kube::Call& call) {
  if (rights_) STRAKE_CHECK_OK(rights_->allow(*node.node, config, call));
  const json::Value patch = options_.policy.target_patch(config, node.consequence->disruption);
  const auto patched = api_.patch(kube::core::kNode, node.node->key(), kube::PatchType::kMerge, patch, {}, call);
  if (patched.ok()) {
    if (options_.policy.counts_unseen_writes) ledger_.wrote(*patched);
    return {};
  }
  if (patched.error().code() == Code::kNotFound) return {};  // it left in this moment
  if (kube::effect_is_unknown(patched.error().code()) && options_.policy.counts_unseen_writes)
    ledger_.doubt(node.node->name);
  return Error(patched.error()).context(fmt::format("targeting node {}", node.node->name));
}

Status RolloutController::write_status(const PoolPlan& plan, const kube::Object& pool, const kube::Call& call) {
  const json::Value status = updated_status(pool, plan, runtime_.wall_now());
  // A conflict means that somebody changed the pool since it was read: the next round plans on what it is then.
  const auto patched =
      kube::apply_status_patch(api_, api::kMachineConfigPool, pool, status, kube::IfChanged::kRefuse, call);
  if (!patched.ok()) return Error(patched.error()).context(fmt::format("writing the status of pool {}", pool.name()));
  return {};
}

void RolloutController::tell(const kube::Object& pool, const PoolPlan& plan, PoolMemory& memory) {
  PoolReport report = report_of(plan);
  if (report == memory.report) return;
  for (const Trouble& trouble : report.troubles) {
    const auto& known = memory.report.troubles;
    if (!degrades_pool(trouble.kind) || std::find(known.begin(), known.end(), trouble) != known.end()) continue;
    // What a render has to say is told by who renders.
    if (trouble.kind == TroubleKind::kRenderFailed) continue;
    events_.record(pool, kube::EventType::kWarning, std::string(to_string(trouble.kind)), trouble.message);
  }
  memory.report = std::move(report);
  if (options_.on_pool) options_.on_pool(memory.report);
}

void RolloutController::forget_pool(const std::string& pool) {
  if (memory_.erase(pool) == 0 || !options_.on_pool) return;
  PoolReport report;
  report.pool = pool;
  report.gone = true;
  options_.on_pool(report);
}

}  // namespace strake::rollout
