// The rollout controller: moves the nodes of every pool to its rendered config, as many at once as maxUnavailable
// allows, and says in each pool how far it is and what keeps it.
//
// A thin executor around plan_pool. Everything it decides on comes from its informers' caches, with its own writes that
// the caches do not show yet laid over them (node_ledger.h). A change of a node that no plan reads, such as a
// heartbeat, wakes nobody.
//
// The rights of the nodes' agents are kept by the same worker: what it grants and what it asks of a node come in order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/runtime.h"
#include "kube/controller.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/kube_api.h"
#include "rollout/agent_rights.h"
#include "rollout/node_ledger.h"
#include "rollout/plan.h"

namespace strake::rollout {

/// How a pool stands, for logs and metrics.
struct PoolReport {
  std::string pool;
  bool gone = false;      ///< it was deleted; the rest says nothing
  bool degraded = false;  ///< its condition Degraded is true
  std::map<NodeAction, std::size_t> nodes{};
  std::vector<Trouble> troubles{};

  bool operator==(const PoolReport&) const = default;
};
PoolReport report_of(const PoolPlan& plan);

/// What deciding has cost so far, counted: it must grow with what changes, and not with how many nodes there are.
struct RolloutWork {
  std::uint64_t views_read = 0;     ///< Nodes read into views
  std::uint64_t nodes_matched = 0;  ///< Nodes matched with the selectors of the pools
};

struct RolloutOptions {
  kube::Hooks hooks{};
  /// Told when a pool's report differs from the last. Called by the worker; must not wait.
  std::function<void(const PoolReport&)> on_pool{};
  RolloutPolicy policy{};
  /// Each node's agent gets the rights it needs (agent_rights.h). Only for servers that have roles as objects.
  bool keep_agent_rights = false;
};

class RolloutController {
 public:
  RolloutController(runtime::Runtime& runtime, kube::KubeApi& api, RolloutOptions options = {});

  void start();
  void stop();
  /// Pools whose last plan could not be carried out, and why.
  std::map<kube::ObjectKey, Error> errors() const { return controller_.errors(); }
  /// Once it has stopped.
  RolloutWork work() const { return {ledger_.views_read(), members_.nodes_matched()}; }

 private:
  /// What is remembered of a pool from one plan to the next.
  struct PoolMemory {
    ConfigBook configs;
    PoolReport report;
  };

  Result<kube::Reconciled> reconcile(const kube::ObjectKey& pool_key, const kube::Call& call);
  void watch_agent_rights();
  Result<kube::Reconciled> reconcile_rights(const std::string& node, const kube::Call& call);
  Result<PoolPlan> plan(const kube::Object& pool, PoolMemory& memory, const kube::Call& call);
  Status load_configs(const std::set<std::string>& names, ConfigBook& book, const kube::Call& call);
  Status target_nodes(const kube::Object& pool, PoolPlan& plan, const kube::Call& call);
  Status target_node(const NodePlan& node, const std::string& config, const kube::Call& call);
  Status write_status(const PoolPlan& plan, const kube::Object& pool, const kube::Call& call);
  void tell(const kube::Object& pool, const PoolPlan& plan, PoolMemory& memory);
  void forget_pool(const std::string& pool);
  std::vector<kube::ObjectKey> all_pool_keys() const;
  std::vector<kube::Informer*> informers();

  runtime::Runtime& runtime_;
  kube::KubeApi& api_;
  const RolloutOptions options_;
  kube::Informer pools_;
  kube::Informer nodes_;
  kube::Informer configs_;
  kube::Informer machine_configurations_;
  kube::EventRecorder events_;
  NodeLedger ledger_;  ///< this and the next two are the worker's own
  MemberBook members_;
  std::map<std::string, PoolMemory> memory_;  ///< by pool
  std::optional<AgentRights> rights_;
  kube::Controller controller_;
};

}  // namespace strake::rollout
