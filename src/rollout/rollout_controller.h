// The rollout controller: moves the nodes of every pool to its rendered config, as many at once as maxUnavailable
// allows.
//
// A thin executor around plan_pool. Informers say when to look; decisions are made on nodes read afresh, because a
// cache that lags behind our own last write would let one node too many go.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/runtime.h"
#include "kube/controller.h"
#include "kube/informer.h"
#include "kube/kube_api.h"
#include "rollout/plan.h"

namespace strake::rollout {

/// Reads what plan_pool needs of one pool from the API: its nodes, the rendered configs they name and the cluster's
/// disruption policy.
class PoolReader {
 public:
  explicit PoolReader(kube::KubeApi& api) : api_(api) {}
  Result<PoolPlan> plan(const kube::Object& pool, const std::vector<kube::Object>& all_pools, const kube::Call& call);
  /// The Node objects of the last plan(), by name.
  const std::map<std::string, kube::Object>& nodes() const { return nodes_; }

 private:
  Result<const machineconfig::DisruptionPolicy*> policy(const kube::Call& call);
  Result<const json::Value*> load_spec(const std::string& name, const kube::Call& call);

  kube::KubeApi& api_;
  std::map<std::string, kube::Object> nodes_;
  std::map<std::string, std::optional<kube::Object>> configs_;
  std::optional<machineconfig::DisruptionPolicy> policy_;
};

/// The plans of every pool, by name.
Result<std::vector<PoolPlan>> plan_all_pools(kube::KubeApi& api, const kube::Call& call);

/// What one look at a pool came to, for metrics.
struct PoolReport {
  std::string pool;
  bool gone = false;      ///< it was deleted; the rest says nothing
  bool degraded = false;  ///< its condition Degraded is true
  std::map<NodeAction, std::size_t> nodes{};
};

struct RolloutOptions {
  kube::Hooks hooks{};
  std::function<void(const PoolReport&)> on_pool{};  ///< called by the worker; must not wait
};

class RolloutController {
 public:
  RolloutController(runtime::Runtime& runtime, kube::KubeApi& api, RolloutOptions options = {});

  void start();
  void stop();
  std::map<kube::ObjectKey, Error> errors() const { return controller_.errors(); }

 private:
  Result<kube::Reconciled> reconcile(const kube::ObjectKey& pool_key, const kube::Call& call);
  Status write_status(const PoolPlan& plan, const kube::Object& pool, const kube::Call& call);
  std::vector<kube::ObjectKey> all_pool_keys() const;

  runtime::Runtime& runtime_;
  kube::KubeApi& api_;
  const RolloutOptions options_;
  kube::Informer pools_;
  kube::Informer nodes_;
  kube::Informer machine_configurations_;
  kube::Controller controller_;
};

}  // namespace strake::rollout
