#include "apistore/service/budget_status.h"

#include "apistore/rules/disruption.h"
#include "apistore/service/object_text.h"
#include "base/time.h"

namespace strake::apistore {

namespace {
const std::string kPodResource = "pods";
const std::string kBudgetResource = "poddisruptionbudgets.policy";

/// The one condition of a budget; the time in it stays while its status does.
json::Object disruption_condition(const json::Value& budget, const BudgetState& state, std::int64_t generation,
                                  const std::string& now) {
  constexpr std::string_view kType = "DisruptionAllowed";
  const std::string_view status = state.allowed > 0 ? "True" : "False";
  std::string since = now;
  const json::Value* conditions = json::find(budget, {"status", "conditions"});
  if (conditions != nullptr && conditions->is_array()) {
    for (const json::Value& condition : conditions->get_array()) {
      if (json::find_string(condition, {"type"}) != kType || json::find_string(condition, {"status"}) != status)
        continue;
      since = json::find_string(condition, {"lastTransitionTime"}).value_or(now);
    }
  }
  return {{"type", kType},
          {"status", status},
          {"reason", state.allowed > 0 ? "SufficientPods" : "InsufficientPods"},
          {"message", ""},
          {"observedGeneration", generation},
          {"lastTransitionTime", since}};
}

}  // namespace

Status BudgetStatus::run(std::stop_token stop) {
  SubscribeOptions options;
  options.after = service_.store().revision();
  options.filter = [](const StoreEvent& event) {
    return event.key.resource == kPodResource || event.key.resource == kBudgetResource;
  };
  STRAKE_TRY(const auto changes, service_.store().subscribe(std::move(options)));
  STRAKE_TRY(const ListResult budgets,
             service_.store().list({.resource = kBudgetResource, .ns = "", .after = {}, .limit = 0, .at = {}}));
  dirty_.clear();
  for (const Row& row : budgets.rows) dirty_.insert(row.ns);
  while (true) {
    // Everything that has happened first, then the sums: a burst of Pods costs one pass.
    while (true) {
      STRAKE_TRY(const StoreEventPtr event, changes->try_next());
      if (event == nullptr) break;
      dirty_.insert(event->key.ns);
    }
    while (!dirty_.empty() && !stop.stop_requested()) {
      STRAKE_CHECK_OK(refresh(*dirty_.begin()));
      dirty_.erase(dirty_.begin());
    }
    STRAKE_TRY(const StoreEventPtr event, changes->next({stop, std::nullopt}));
    dirty_.insert(event->key.ns);
  }
}

Status BudgetStatus::refresh(const std::string& ns) {
  STRAKE_TRY(const ListResult budgets,
             service_.store().list({.resource = kBudgetResource, .ns = ns, .after = {}, .limit = 0, .at = {}}));
  if (budgets.rows.empty()) return {};
  STRAKE_TRY(const ListResult rows,
             service_.store().list({.resource = kPodResource, .ns = ns, .after = {}, .limit = 0, .at = {}}));
  std::vector<json::Value> pods;
  for (const Row& row : rows.rows) {
    STRAKE_TRY(json::Value pod, parse_stored(row.text, {kPodResource, ns, row.name}));
    pods.push_back(std::move(pod));
  }
  std::vector<const json::Value*> pointers;
  for (const json::Value& pod : pods) pointers.push_back(&pod);

  for (const Row& row : budgets.rows) {
    STRAKE_TRY(const json::Value budget, parse_stored(row.text, {kBudgetResource, ns, row.name}));
    const auto state = budget_state(budget, pointers);
    if (!state.ok()) continue;  // a budget that cannot be read: every eviction it covers says why
    const std::int64_t generation = json::find_int(budget, {"metadata", "generation"}).value_or(0);
    const std::string now = format_rfc3339(service_.runtime().wall_now());
    const json::Value patch = json::Object{
        {"status", json::Object{{"observedGeneration", generation},
                                {"conditions", json::Array{disruption_condition(budget, *state, generation, now)}},
                                {"expectedPods", state->expected},
                                {"currentHealthy", state->healthy},
                                {"desiredHealthy", state->desired},
                                {"disruptionsAllowed", state->allowed}}}};
    Request request{Caller::system("disruption-controller"), {}, {}};
    kube::WriteOptions options;
    options.subresource = "status";
    const auto patched = service_.patch(request, kube::core::kPodDisruptionBudget, {ns, row.name},
                                        kube::PatchType::kMerge, patch, options);
    if (!patched.ok() && patched.error().code() != Code::kNotFound) return patched.error();
  }
  return {};
}

}  // namespace strake::apistore
