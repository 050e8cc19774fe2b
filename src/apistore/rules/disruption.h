// PodDisruptionBudgets, computed from the Pods that exist. Pure.
//
// kube-controller-manager asks the Pods' controllers how many there should be; here the Pods that exist are the
// expectation, because the embedded server runs no workload controllers. Percentages are of the matching Pods that have
// not ended.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

namespace strake::apistore {

struct BudgetState {
  std::int64_t expected = 0;  ///< matching Pods that have not ended
  std::int64_t healthy = 0;   ///< of these, ready and not being deleted
  std::int64_t desired = 0;   ///< must stay healthy
  std::int64_t allowed = 0;   ///< may be evicted now
};

/// `pods` are the Pods of the budget's namespace.
Result<BudgetState> budget_state(const json::Value& budget, const std::vector<const json::Value*>& pods);
/// kInvalidArgument for a selector that cannot be read.
Result<bool> budget_covers(const json::Value& budget, const json::Value& pod);

bool pod_is_ready(const json::Value& pod);
bool pod_has_ended(const json::Value& pod);

}  // namespace strake::apistore
