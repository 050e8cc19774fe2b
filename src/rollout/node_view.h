// What the rollout sees of a node, read once from its object; the predicates are the platform's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/object.h"

namespace strake::rollout {

struct NodeView {
  std::string name;
  kube::ObjectKey key() const { return {"", name}; }
  std::string zone;
  std::string created;
  bool schedulable = true;
  bool healthy = true;  ///< Ready, no disk pressure, network available
  std::string current_config;
  std::string desired_config;
  std::string state;
  std::string reason;
  std::string planned_class;
  std::string executed_class;

  /// Never configured, so it runs no workload yet: it takes no capacity and waits for nobody.
  bool is_new() const { return current_config.empty() && desired_config.empty(); }
  bool ready() const { return healthy && schedulable; }
  bool done() const;
  bool failing() const;
};

NodeView node_view(const kube::Object& node);

/// True while the node uses up one unit of its pool's maxUnavailable: away for any reason, or being changed.
bool occupies_capacity(const NodeView& node);

/// The pool a node belongs to: a custom pool wins over worker, master wins over all; two custom pools are an error, no
/// match is nullopt.
Result<std::optional<std::string>> primary_pool(const kube::Object& node, const std::vector<kube::Object>& pools);

}  // namespace strake::rollout
