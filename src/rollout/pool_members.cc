#include "rollout/pool_members.h"

#include <algorithm>

#include "api/machine_config.h"
#include "api/machine_config_pool.h"

namespace strake::rollout {

namespace {

constexpr std::size_t kHashLength = 32;

}  // namespace

std::string StrayNode::why() const {
  if (pools.empty()) return "matches the nodeSelector of no pool; give it the label of one";
  return fmt::format("belongs to {} custom pools ({}) and is left alone; remove the labels of all but one",
                     pools.size(), fmt::join(pools, ", "));
}

std::optional<std::string_view> pool_of_rendered(std::string_view config) {
  if (!config.starts_with(api::kRenderedPrefix)) return std::nullopt;
  config.remove_prefix(api::kRenderedPrefix.size());
  if (config.size() < kHashLength + 2 || config[config.size() - kHashLength - 1] != '-') return std::nullopt;
  const std::string_view hash = config.substr(config.size() - kHashLength);
  if (hash.find_first_not_of("0123456789abcdef") != std::string_view::npos) return std::nullopt;
  return config.substr(0, config.size() - kHashLength - 1);
}

PoolSelectors::PoolSelectors(const std::vector<kube::ObjectPtr>& pools) {
  for (const kube::ObjectPtr& pool : pools) {
    const json::Value* written = api::MachineConfigPoolView(pool->json()).node_selector();
    auto selector = kube::Selector::from_json(written, kube::AbsentSelector::kMatchesNothing);
    if (!selector.ok()) {
      broken_[pool->name()] = fmt::format("spec.nodeSelector cannot be evaluated: {}", selector.error().to_string());
    } else if (selector->matches_everything()) {
      broken_[pool->name()] =
          "spec.nodeSelector is empty, which would take every node of the cluster; name a label, or remove it";
    } else {
      selectors_.emplace(pool->name(), *std::move(selector));
    }
  }
}

std::string PoolSelectors::trouble_of(const std::string& pool) const {
  const auto found = broken_.find(pool);
  return found == broken_.end() ? "" : found->second;
}

PoolSelectors::Membership PoolSelectors::pool_of(const api::NodeView& node) const {
  if (node.is_windows()) return {};
  bool master = false, worker = false;
  std::vector<std::string> custom;
  for (const auto& [pool, selector] : selectors_) {
    if (!selector.matches(node.labels)) continue;
    if (pool == api::kMasterPool) {
      master = true;
    } else if (pool == api::kWorkerPool) {
      worker = true;
    } else {
      custom.push_back(pool);
    }
  }
  if (custom.size() > 1) return {std::nullopt, std::move(custom)};
  if (master) return {std::string(api::kMasterPool), {}};
  if (const auto runs = pool_of_rendered(node.desired_config); runs && broken_.contains(std::string(*runs))) {
    return {std::string(*runs), {}};
  }
  if (!custom.empty()) return {custom.front(), {}};
  if (worker) return {std::string(api::kWorkerPool), {}};
  return {};
}

std::vector<api::NodePtr> PoolMembers::of(const std::string& pool) const {
  const auto found = by_pool.find(pool);
  return found == by_pool.end() ? std::vector<api::NodePtr>() : found->second;
}

std::vector<StrayNode> PoolMembers::contested(const std::string& pool) const {
  std::vector<StrayNode> found;
  std::copy_if(strays.begin(), strays.end(), std::back_inserter(found), [&](const StrayNode& stray) {
    return std::find(stray.pools.begin(), stray.pools.end(), pool) != stray.pools.end();
  });
  return found;
}

namespace {

void add_member(PoolMembers& members, const api::NodePtr& node, const PoolSelectors::Membership& membership) {
  if (membership.pool) {
    members.by_pool[*membership.pool].push_back(node);
  } else if (!node->is_windows()) {
    members.strays.push_back({node->name, membership.contested_by});
  }
}

std::map<std::string, json::Value> written_selectors(const std::vector<kube::ObjectPtr>& pools) {
  std::map<std::string, json::Value> written;
  for (const kube::ObjectPtr& pool : pools) {
    const json::Value* selector = api::MachineConfigPoolView(pool->json()).node_selector();
    written.emplace(pool->name(), selector == nullptr ? json::Value() : *selector);
  }
  return written;
}

}  // namespace

PoolMembers sort_out(const PoolSelectors& selectors, const std::vector<api::NodePtr>& nodes) {
  PoolMembers members;
  for (const api::NodePtr& node : nodes) add_member(members, node, selectors.pool_of(*node));
  return members;
}

PoolMembers MemberBook::sort_out(const std::vector<kube::ObjectPtr>& pools, const std::vector<api::NodePtr>& nodes) {
  if (auto written = written_selectors(pools); written != written_) {
    selectors_ = PoolSelectors(pools);
    written_ = std::move(written);
    known_.clear();
  }
  PoolMembers members;
  std::vector<Known> known;
  known.reserve(nodes.size());
  auto before = known_.begin();
  for (const api::NodePtr& node : nodes) {
    const auto is_same = [&] { return before != known_.end() && before->node == node; };
    while (!is_same() && before != known_.end() && before->node->name <= node->name) ++before;
    if (is_same()) {
      known.push_back(std::move(*before++));
    } else {
      ++nodes_matched_;
      known.push_back({node, selectors_.pool_of(*node)});
    }
    add_member(members, node, known.back().membership);
  }
  known_ = std::move(known);
  return members;
}

}  // namespace strake::rollout
