// Which pool each node belongs to, by the platform's rule: a custom pool wins over worker, master wins over all.
//
// A pool whose selector cannot be evaluated takes no part in this, and takes nothing from the others: it keeps the
// nodes that run its configs, because another pool's claim on them may be only half of the truth, and everybody else
// goes where the other pools say.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/node.h"
#include "kube/object.h"
#include "kube/selector.h"

namespace strake::rollout {

/// A node that no pool manages.
struct StrayNode {
  std::string name;
  std::vector<std::string> pools{};  ///< the custom pools that all claim it; empty: no pool does

  /// "matches the nodeSelector of no pool: ..."
  std::string why() const;
  bool operator==(const StrayNode&) const = default;
};

class PoolSelectors {
 public:
  PoolSelectors() = default;
  explicit PoolSelectors(const std::vector<kube::ObjectPtr>& pools);

  struct Membership {
    std::optional<std::string> pool{};
    std::vector<std::string> contested_by{};  ///< two custom pools or more: the node is left alone
  };
  Membership pool_of(const api::NodeView& node) const;

  /// Why a pool's selector cannot be evaluated; "" when it can.
  std::string trouble_of(const std::string& pool) const;

 private:
  std::map<std::string, kube::Selector> selectors_;
  std::map<std::string, std::string> broken_;
};

/// All nodes, sorted out.
struct PoolMembers {
  std::map<std::string, std::vector<api::NodePtr>> by_pool;
  std::vector<StrayNode> strays;

  std::vector<api::NodePtr> of(const std::string& pool) const;
  /// The strays that this pool and another claim.
  std::vector<StrayNode> contested(const std::string& pool) const;
};

/// Nodes that run Windows belong nowhere and are no strays.
PoolMembers sort_out(const PoolSelectors& selectors, const std::vector<api::NodePtr>& nodes);

/// Sorts out again and again: a node whose view is still the same is not matched anew while no selector changes.
class MemberBook {
 public:
  /// Nodes in the order of their names.
  PoolMembers sort_out(const std::vector<kube::ObjectPtr>& pools, const std::vector<api::NodePtr>& nodes);
  const PoolSelectors& selectors() const { return selectors_; }

  /// How often a node was matched with the selectors.
  std::uint64_t nodes_matched() const { return nodes_matched_; }

 private:
  struct Known {
    api::NodePtr node;
    PoolSelectors::Membership membership;
  };

  std::map<std::string, json::Value> written_;  ///< the selectors as they stand in the pools
  PoolSelectors selectors_;
  std::vector<Known> known_;  ///< by name
  std::uint64_t nodes_matched_ = 0;
};

/// "worker" of "rendered-worker-<32 hexadecimal digits>"; nullopt for any other name.
std::optional<std::string_view> pool_of_rendered(std::string_view config);

}  // namespace strake::rollout
