#include "rollout/rollout_controller.h"

#include "api/conditions.h"
#include "api/kinds.h"
#include "kube/patch.h"

namespace strake::rollout {

namespace {

using namespace std::chrono_literals;

kube::InformerOptions rollout_informer_options(const kube::Hooks& hooks) {
  kube::InformerOptions options;
  options.resync = 5min;
  options.hooks = hooks;
  return options;
}

/// Every plan reads the Nodes anew: the informer only tells that one of them changed.
kube::InformerOptions node_informer_options(const kube::Hooks& hooks) {
  kube::InformerOptions options = rollout_informer_options(hooks);
  options.identity_only = true;
  return options;
}

kube::ControllerOptions rollout_controller_options(const kube::Hooks& hooks) {
  kube::ControllerOptions options;
  options.hooks = hooks;
  options.name = "rollout";
  options.workers = 1;  // one decision at a time: capacity is counted across the whole pool
  options.rate_limits.longest_retry = 30s;
  return options;
}

}  // namespace

Result<const machineconfig::DisruptionPolicy*> PoolReader::policy(const kube::Call& call) {
  if (!policy_) {
    STRAKE_TRY(policy_, machineconfig::read_disruption_policy(api_, call));
  }
  return &*policy_;
}

Result<const json::Value*> PoolReader::load_spec(const std::string& name, const kube::Call& call) {
  auto found = configs_.find(name);
  if (found == configs_.end()) {
    auto config = api_.get(api::kMachineConfig, {"", name}, call);
    if (!config.ok() && config.error().code() != Code::kNotFound) return std::move(config).error();
    found = configs_.emplace(name, config.ok() ? std::optional(*std::move(config)) : std::nullopt).first;
  }
  return found->second ? json::find(found->second->json(), {"spec"}) : nullptr;
}

Result<PoolPlan> PoolReader::plan(const kube::Object& pool, const std::vector<kube::Object>& all_pools,
                                  const kube::Call& call) {
  nodes_.clear();
  PoolInput input;
  input.pool = pool;
  STRAKE_TRY_CONTEXT(const kube::ListPage page, api_.list(kube::core::kNode, "", {}, call), "listing nodes");
  for (const kube::Object& node : page.items) {
    // A node that belongs to several pools is left alone everywhere; the others go on.
    const auto primary = primary_pool(node, all_pools);
    if (!primary.ok() || *primary != pool.name()) continue;
    nodes_.emplace(node.name(), node);
    input.nodes.push_back(node);
  }
  std::map<std::string, const json::Value*> specs;
  const auto want = [&](const std::string& name) -> Status {
    if (name.empty() || specs.contains(name)) return {};
    STRAKE_TRY_CONTEXT(specs[name], load_spec(name, call), "reading MachineConfig {}", name);
    return {};
  };
  STRAKE_CHECK_OK(want(api::MachineConfigPoolView(pool.json()).target()));
  for (const kube::Object& node : input.nodes) STRAKE_CHECK_OK(want(node_view(node).current_config));
  input.spec_of = [&](const std::string& name) -> const json::Value* {
    const auto found = specs.find(name);
    return found == specs.end() ? nullptr : found->second;
  };
  STRAKE_TRY(const machineconfig::DisruptionPolicy* in_effect, policy(call));
  input.policy = *in_effect;
  return plan_pool(input);
}

Result<std::vector<PoolPlan>> plan_all_pools(kube::KubeApi& api, const kube::Call& call) {
  STRAKE_TRY_CONTEXT(const kube::ListPage page, api.list(api::kMachineConfigPool, "", {}, call), "listing pools");
  PoolReader reader(api);
  std::vector<PoolPlan> plans;
  for (const kube::Object& pool : page.items) {
    STRAKE_TRY_CONTEXT(PoolPlan plan, reader.plan(pool, page.items, call), "planning pool {}", pool.name());
    plans.push_back(std::move(plan));
  }
  return plans;
}

RolloutController::RolloutController(runtime::Runtime& runtime, kube::KubeApi& api, RolloutOptions options)
    : runtime_(runtime),
      api_(api),
      options_(std::move(options)),
      pools_(runtime, api, api::kMachineConfigPool, rollout_informer_options(options_.hooks)),
      nodes_(runtime, api, kube::core::kNode, node_informer_options(options_.hooks)),
      machine_configurations_(runtime, api, api::kMachineConfiguration, rollout_informer_options(options_.hooks)),
      controller_(runtime, rollout_controller_options(options_.hooks),
                  [this](const kube::ObjectKey& key, const kube::Call& call) { return reconcile(key, call); }) {
  controller_.watch(pools_);
  controller_.watch(nodes_, [this](const kube::Object&) { return all_pool_keys(); });
  controller_.watch(machine_configurations_, [this](const kube::Object&) { return all_pool_keys(); });
}

void RolloutController::start() {
  pools_.start();
  nodes_.start();
  machine_configurations_.start();
  controller_.start();
}

void RolloutController::stop() {
  controller_.stop();
  machine_configurations_.stop();
  nodes_.stop();
  pools_.stop();
}

std::vector<kube::ObjectKey> RolloutController::all_pool_keys() const {
  std::vector<kube::ObjectKey> keys;
  for (const kube::ObjectPtr& pool : pools_.list()) keys.push_back(pool->key());
  return keys;
}

Result<kube::Reconciled> RolloutController::reconcile(const kube::ObjectKey& pool_key, const kube::Call& call) {
  auto pool = api_.get(api::kMachineConfigPool, pool_key, call);
  if (!pool.ok() && pool.error().code() == Code::kNotFound) {
    if (options_.on_pool) options_.on_pool({.pool = pool_key.name, .gone = true});
    return kube::Reconciled{};
  }
  if (!pool.ok()) return std::move(pool).error();
  std::vector<kube::Object> pools;
  for (const kube::ObjectPtr& known : pools_.list()) pools.push_back(*known);
  PoolReader reader(api_);
  STRAKE_TRY_CONTEXT(const PoolPlan plan, reader.plan(*pool, pools, call), "planning pool {}", pool_key.name);
  for (const NodePlan& node : plan.nodes) {
    if (node.action != NodeAction::kTarget) continue;
    const json::Value patch = target_patch(reader.nodes().at(node.node.name), plan.target, node.consequence.disruption);
    const auto patched = api_.patch(kube::core::kNode, node.node.key(), kube::PatchType::kMerge, patch, {}, call);
    if (!patched.ok()) return Error(patched.error()).context(fmt::format("targeting node {}", node.node.name));
  }
  STRAKE_CHECK_OK(write_status(plan, *pool, call));
  return kube::Reconciled{};
}

Status RolloutController::write_status(const PoolPlan& plan, const kube::Object& pool, const kube::Call& call) {
  const json::Value status = updated_status(pool, plan, runtime_.wall_now());
  // A conflict means that somebody changed the pool since it was read: the next round plans on what it is then.
  const auto patched =
      kube::apply_status_patch(api_, api::kMachineConfigPool, pool, status, kube::IfChanged::kRefuse, call);
  if (!patched.ok()) return Error(patched.error()).context(fmt::format("writing the status of pool {}", pool.name()));
  if (options_.on_pool) {
    PoolReport report{.pool = pool.name()};
    report.degraded = api::condition_is_true(json::Object{{"status", status}}, api::pool_condition::kDegraded);
    for (const NodePlan& node : plan.nodes) ++report.nodes[node.action];
    options_.on_pool(report);
  }
  return {};
}

}  // namespace strake::rollout
