// Service: eviction. The decision and the deletion are one transaction: two evictions never share the last disruption a
// budget allows.
#include "apistore/rules/builtin_rules.h"
#include "apistore/rules/disruption.h"
#include "apistore/service/object_text.h"
#include "apistore/service/service.h"
#include "apistore/service/service_errors.h"

namespace strake::apistore {

namespace {

constexpr int kEvictAttempts = 50;

Error disruption_refused(const std::string& budget, const BudgetState& state, kube::StatusDetails& details) {
  details = {};
  details.causes.push_back({"DisruptionBudget",
                            fmt::format("The disruption budget {} needs {} healthy pods and has {} currently", budget,
                                        state.desired, state.healthy),
                            ""});
  return error(Code::kExhausted, "Cannot evict pod as it would violate the pod's disruption budget.")
      .with_reason("TooManyRequests");
}

/// The state of one namespace at one moment, as an eviction judges it.
class EvictionAttempt {
 public:
  EvictionAttempt(Store& store, const std::string& ns) : store_(store), ns_(ns) {}

  /// Whether a budget stands in the way of evicting `pod`.
  Status judge(const json::Value& pod, kube::StatusDetails& details) {
    STRAKE_TRY(const ListResult budgets, read(kBudgets));
    revision_ = budgets.revision;
    std::optional<json::Value> covering;
    for (const Row& row : budgets.rows) {
      STRAKE_TRY(json::Value budget, parse_stored(row.text, {kBudgets, ns_, row.name}));
      STRAKE_TRY(const bool covers, budget_covers(budget, pod));
      if (!covers) continue;
      if (covering) {
        return error(Code::kUnavailable,
                     "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.")
            .with_reason("InternalError");
      }
      covering = std::move(budget);
    }
    if (!covering) return {};
    STRAKE_TRY(const BudgetState state, state_of(*covering));
    if (!pod_is_ready(pod)) {
      // Evicting what is not healthy takes nothing from the budget.
      const std::string policy =
          json::find_string(*covering, {"spec", "unhealthyPodEvictionPolicy"}).value_or("IfHealthyBudget");
      if (policy == "AlwaysAllow" || (state.healthy >= state.desired && state.desired > 0)) return {};
    }
    if (state.allowed > 0) return {};
    return disruption_refused(json::find_string(*covering, {"metadata", "name"}).value_or(""), state, details);
  }

  /// Inside the transaction: nothing the judgement rests on has changed.
  Result<bool> still_holds(Txn& txn) const {
    if (revision_ == 0) return true;  // nothing was judged
    for (const char* resource : {kPods, kBudgets}) {
      STRAKE_TRY(const bool changed, txn.changed_since(revision_, resource, ns_));
      if (changed) return false;
    }
    return true;
  }

 private:
  static constexpr const char* kPods = "pods";
  static constexpr const char* kBudgets = "poddisruptionbudgets.policy";

  Result<ListResult> read(const char* resource) {
    return store_.list({.resource = resource, .ns = ns_, .after = {}, .limit = 0, .at = {}});
  }

  Result<BudgetState> state_of(const json::Value& budget) {
    STRAKE_TRY(const ListResult rows, read(kPods));
    std::vector<json::Value> pods;
    for (const Row& row : rows.rows) {
      STRAKE_TRY(json::Value pod, parse_stored(row.text, {kPods, ns_, row.name}));
      pods.push_back(std::move(pod));
    }
    std::vector<const json::Value*> pointers;
    for (const json::Value& pod : pods) pointers.push_back(&pod);
    return budget_state(budget, pointers);
  }

  Store& store_;
  const std::string& ns_;
  Revision revision_ = 0;
};

}  // namespace

Status Service::evict(Request& request, const kube::ObjectKey& pod_key, const kube::DeleteOptions& options) {
  STRAKE_TRY(const Target at, target(kube::core::kPod));
  STRAKE_CHECK_OK(allow(request, "create", at, pod_key.ns, pod_key.name, "eviction"));
  const StoreKey key{at.kind->qualified_name(), pod_key.ns, pod_key.name};
  for (int attempt = 0; attempt < kEvictAttempts; ++attempt) {
    request.details = {};
    STRAKE_TRY(const Row row, existing(request, at, key));
    STRAKE_TRY(const json::Value pod, parse_stored(row.text, key));
    EvictionAttempt judgement(*store_, pod_key.ns);
    const bool pending = json::find_string(pod, {"status", "phase"}) == "Pending";
    const bool deleting = json::find(pod, {"metadata", "deletionTimestamp"}) != nullptr;
    if (!pending && !deleting && !pod_has_ended(pod)) STRAKE_CHECK_OK(judgement.judge(pod, request.details));
    STRAKE_TRY(const std::optional<Mutation> mutation, plan_removal(request, at, row, pod, options));
    if (!mutation || options.dry_run) return {};

    bool done = false;
    const Store::Function function = [&](Txn& txn) -> Status {
      done = false;
      STRAKE_TRY(const Revision current, txn.revision_of(key));
      STRAKE_TRY(const bool holds, judgement.still_holds(txn));
      if (current != mutation->expected || !holds) return {};
      Row written;
      if (Status applied = apply(txn, *mutation, written); !applied.ok()) return applied;
      done = true;
      return {};
    };
    STRAKE_CHECK_OK(store_->write(function));
    if (done) return {};
  }
  return error(Code::kExhausted, "the pods of namespace {} change too fast to judge the eviction of {}", pod_key.ns,
               pod_key.name)
      .with_reason("TooManyRequests")
      .with_retry_after(std::chrono::seconds(1));
}

}  // namespace strake::apistore
