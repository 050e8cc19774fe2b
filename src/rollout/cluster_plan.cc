#include "rollout/cluster_plan.h"

#include <map>

#include "api/kinds.h"

namespace strake::rollout {

namespace {

constexpr std::uint32_t kNodesAtOnce = 500;

/// Rendered configs, each read once.
class ConfigReader {
 public:
  explicit ConfigReader(kube::KubeApi& api) : api_(api) {}

  /// One that is at hand, whether the API has it or not.
  void know(const kube::ObjectPtr& config) { configs_[config->name()] = config; }

  Status load(const std::set<std::string>& names, ConfigBook& book, const kube::Call& call) {
    for (const std::string& name : names) {
      const auto known = configs_.find(name);
      if (known != configs_.end()) {
        book.put(name, known->second);
        continue;
      }
      auto read = api_.get(api::kMachineConfig, {"", name}, call);
      if (!read.ok() && read.error().code() != Code::kNotFound) {
        // The one who asks is told what is missing: roles that see pools and nodes do not all see what configs hold.
        const char* next = read.error().code() == Code::kDenied
                               ? "; a plan compares MachineConfigs, which the role config-viewer may read"
                               : "";
        return Error(read.error()).context(fmt::format("reading MachineConfig {}{}", name, next));
      }
      kube::ObjectPtr config = read.ok() ? std::make_shared<const kube::Object>(*std::move(read)) : nullptr;
      book.put(name, config);
      configs_.emplace(name, std::move(config));
    }
    return {};
  }

 private:
  kube::KubeApi& api_;
  std::map<std::string, kube::ObjectPtr> configs_;
};

Result<ClusterPlan> plan_pools(const std::vector<kube::ObjectPtr>& pools, const std::vector<api::NodePtr>& nodes,
                               const Result<machineconfig::DisruptionPolicy>& policy, ConfigReader& configs,
                               const kube::Call& call) {
  const PoolSelectors selectors(pools);
  PoolMembers members = sort_out(selectors, nodes);
  ClusterPlan plan;
  for (const kube::ObjectPtr& pool : pools) {
    ConfigBook book;
    if (policy.ok()) book.set_policy(*policy);
    PoolInput input{.pool = *pool, .nodes = members.of(pool->name()), .configs = book};
    input.selector_trouble = selectors.trouble_of(pool->name());
    input.contested = members.contested(pool->name());
    if (!policy.ok()) input.policy_trouble = policy.error().to_string();
    STRAKE_CHECK_OK(configs.load(configs_needed(*pool, input.nodes), book, call));
    plan.pools.push_back(plan_pool(input));
  }
  plan.strays = std::move(members.strays);
  return plan;
}

}  // namespace

Result<std::vector<api::NodePtr>> read_nodes(kube::KubeApi& api, const kube::Call& call) {
  std::vector<api::NodePtr> nodes;
  kube::ListOptions options;
  options.limit = kNodesAtOnce;
  while (true) {
    STRAKE_TRY_CONTEXT(const kube::ListPage page, api.list(kube::core::kNode, "", options, call), "listing nodes");
    for (const kube::Object& node : page.items) {
      nodes.push_back(std::make_shared<const api::NodeView>(api::node_view(node)));
    }
    if (page.continue_token.empty()) return nodes;
    options.continue_token = page.continue_token;
  }
}

std::set<std::string> configs_needed(const kube::Object& pool, const std::vector<api::NodePtr>& nodes) {
  std::set<std::string> names{api::MachineConfigPoolView(pool.json()).target()};
  for (const api::NodePtr& node : nodes) names.insert(node->current_config);
  names.erase("");
  return names;
}

Result<ClusterPlan> read_cluster_plan(kube::KubeApi& api, const kube::Call& call) {
  STRAKE_TRY_CONTEXT(kube::ListPage page, api.list(api::kMachineConfigPool, "", {}, call), "listing pools");
  std::vector<kube::ObjectPtr> pools;
  pools.reserve(page.items.size());
  for (kube::Object& pool : page.items) pools.push_back(std::make_shared<const kube::Object>(std::move(pool)));
  STRAKE_TRY(const auto nodes, read_nodes(api, call));
  auto policy = machineconfig::read_disruption_policy(api, call);
  if (!policy.ok() && policy.error().code() != Code::kInvalidArgument) return std::move(policy).error();
  ConfigReader configs(api);
  return plan_pools(pools, nodes, policy, configs, call);
}

Result<ClusterPlan> plan_proposal(kube::KubeApi& api, const std::vector<api::NodePtr>& nodes,
                                  const std::vector<ProposedPool>& proposal,
                                  const Result<machineconfig::DisruptionPolicy>& policy, const kube::Call& call) {
  ConfigReader configs(api);
  std::vector<kube::ObjectPtr> pools;
  for (const auto& [pool, rendered] : proposal) {
    if (!rendered) {
      pools.push_back(pool);
      continue;
    }
    kube::Object targeted = *pool;
    api::MachineConfigPoolEdit(targeted.json()).set_target(rendered->name(), {});
    pools.push_back(std::make_shared<const kube::Object>(std::move(targeted)));
    configs.know(rendered);
  }
  return plan_pools(pools, nodes, policy, configs, call);
}

}  // namespace strake::rollout
