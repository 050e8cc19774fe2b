// Which pool each node belongs to, by the platform's rule: a custom pool wins over worker, master wins over all.
//
// A pool whose selector cannot be evaluated takes no part in this, and takes nothing from the others: it keeps the
// nodes that run its configs, because another pool's claim on them may be only half of the truth, and everybody else
// goes where the other pools say.
#pragma once

#include <map>
#include <memory>
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
  std::map<std::string, std::vector<const api::NodeView*>> by_pool;
  std::vector<StrayNode> strays;

  std::vector<const api::NodeView*> of(const std::string& pool) const;
  /// The strays that this pool and another claim.
  std::vector<StrayNode> contested(const std::string& pool) const;
};

/// The nodes outlive what is returned. Nodes that run Windows belong nowhere and are no strays.
PoolMembers sort_out(const PoolSelectors& selectors, const std::vector<std::shared_ptr<const api::NodeView>>& nodes);

/// "worker" of "rendered-worker-<32 hexadecimal digits>"; nullopt for any other name.
std::optional<std::string_view> pool_of_rendered(std::string_view config);

}  // namespace strake::rollout
