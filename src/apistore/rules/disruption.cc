#include "apistore/rules/disruption.h"

#include <algorithm>
#include <charconv>

#include "kube/selector.h"

namespace strake::apistore {

namespace {

Result<kube::Selector> budget_selector(const json::Value& budget) {
  return kube::Selector::from_json(json::find(budget, {"spec", "selector"}), kube::AbsentSelector::kMatchesNothing)
      .context("spec.selector of the budget");
}

kube::Labels labels_of(const json::Value& pod) {
  kube::Labels labels;
  const json::Value* found = json::find(pod, {"metadata", "labels"});
  if (found == nullptr || !found->is_object()) return labels;
  for (const auto& [key, value] : found->get_object()) {
    if (value.is_string()) labels.emplace(key, json::as_view(value.get_string()));
  }
  return labels;
}

/// An integer, or a percentage of `total` rounded up.
Result<std::int64_t> int_or_percent(const json::Value& value, std::int64_t total, std::string_view field) {
  if (value.is_int64()) return value.get_int64();
  if (value.is_string()) {
    std::string_view text = json::as_view(value.get_string());
    std::int64_t percent = 0;
    const bool has_sign = text.ends_with('%');
    if (has_sign) text.remove_suffix(1);
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), percent);
    const bool whole = failed == std::errc() && end == text.data() + text.size();
    if (has_sign && whole && percent >= 0 && percent <= 1'000'000) return (percent * total + 99) / 100;
  }
  return error(Code::kInvalidArgument, "spec.{} is {}, neither a whole number nor a percentage", field,
               json::write(value));
}

}  // namespace

bool pod_has_ended(const json::Value& pod) {
  const std::string phase = json::find_string(pod, {"status", "phase"}).value_or("");
  return phase == "Succeeded" || phase == "Failed";
}

bool pod_is_ready(const json::Value& pod) {
  const json::Value* conditions = json::find(pod, {"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) return false;
  const json::Array& list = conditions->get_array();
  return std::any_of(list.begin(), list.end(), [](const json::Value& condition) {
    return json::find_string(condition, {"type"}) == "Ready" && json::find_string(condition, {"status"}) == "True";
  });
}

Result<bool> budget_covers(const json::Value& budget, const json::Value& pod) {
  STRAKE_TRY(const kube::Selector selector, budget_selector(budget));
  return selector.matches(labels_of(pod));
}

Result<BudgetState> budget_state(const json::Value& budget, const std::vector<const json::Value*>& pods) {
  STRAKE_TRY(const kube::Selector selector, budget_selector(budget));
  BudgetState state;
  for (const json::Value* pod : pods) {
    if (pod_has_ended(*pod) || !selector.matches(labels_of(*pod))) continue;
    ++state.expected;
    if (pod_is_ready(*pod) && json::find(*pod, {"metadata", "deletionTimestamp"}) == nullptr) ++state.healthy;
  }
  const json::Value* max_unavailable = json::find(budget, {"spec", "maxUnavailable"});
  const json::Value* min_available = json::find(budget, {"spec", "minAvailable"});
  if (max_unavailable != nullptr) {
    STRAKE_TRY(const std::int64_t unavailable, int_or_percent(*max_unavailable, state.expected, "maxUnavailable"));
    state.desired = std::max<std::int64_t>(0, state.expected - unavailable);
  } else if (min_available != nullptr) {
    STRAKE_TRY(state.desired, int_or_percent(*min_available, state.expected, "minAvailable"));
  } else {
    state.desired = state.expected;  // a budget that says nothing allows nothing, as on a real server
  }
  if (state.expected > 0) state.allowed = std::max<std::int64_t>(0, state.healthy - state.desired);
  return state;
}

}  // namespace strake::apistore
