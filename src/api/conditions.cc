#include "api/conditions.h"

#include <algorithm>

#include "base/secrets.h"
#include "base/time.h"

namespace strake::api {

namespace {

json::Array* condition_list(json::Value& object) {
  json::Value* list = json::find(object, {"status", "conditions"});
  return list == nullptr ? nullptr : list->if_array();
}

bool has_type(const json::Value& condition, std::string_view type) {
  return json::find_string(condition, {"type"}) == type;
}

std::size_t erase_type(json::Array& list, std::string_view type) {
  const auto kept =
      std::remove_if(list.begin(), list.end(), [&](const json::Value& item) { return has_type(item, type); });
  const auto erased = static_cast<std::size_t>(list.end() - kept);
  list.erase(kept, list.end());
  return erased;
}

}  // namespace

std::string_view to_string(ConditionStatus status) {
  switch (status) {
    case ConditionStatus::kTrue: return "True";
    case ConditionStatus::kFalse: return "False";
    case ConditionStatus::kUnknown: return "Unknown";
  }
  return "Unknown";
}

Result<ConditionStatus> parse_condition_status(std::string_view text) {
  for (const ConditionStatus status : {ConditionStatus::kTrue, ConditionStatus::kFalse, ConditionStatus::kUnknown}) {
    if (text == to_string(status)) return status;
  }
  return error(Code::kInvalidArgument, "condition status '{}' is not True, False or Unknown", text);
}

const json::Value* status_of(const json::Value& object) { return json::find(object, {"status"}); }

json::Value conditions_status(const json::Value& object) {
  const json::Value* list = json::find(object, {"status", "conditions"});
  return json::Object{{"conditions", list == nullptr ? json::Value(json::Array{}) : *list}};
}

json::Value conditions_patch(const json::Value& object) { return json::Object{{"status", conditions_status(object)}}; }

std::optional<Condition> find_condition(const json::Value& object, std::string_view type) {
  const json::Value* list = json::find(object, {"status", "conditions"});
  if (list == nullptr || !list->is_array()) return std::nullopt;
  for (const json::Value& item : list->get_array()) {
    if (!has_type(item, type)) continue;
    const std::string status = json::find_string(item, {"status"}).value_or("");
    return Condition{std::string(type), parse_condition_status(status).value_or(ConditionStatus::kUnknown),
                     json::find_string(item, {"reason"}).value_or(""),
                     json::find_string(item, {"message"}).value_or(""),
                     json::find_string(item, {"lastTransitionTime"}).value_or("")};
  }
  return std::nullopt;
}

bool condition_is_true(const json::Value& object, std::string_view type) {
  const std::optional<Condition> condition = find_condition(object, type);
  return condition && condition->status == ConditionStatus::kTrue;
}

bool set_condition(json::Value& object, const Condition& condition, std::chrono::system_clock::time_point now,
                   ConditionPlace place) {
  constexpr std::size_t kMaxMessageBytes = 16u << 10;
  const std::string message = public_text(condition.message, kMaxMessageBytes);
  json::Value& list_value = json::ensure(object, {"status", "conditions"});
  if (!list_value.is_array()) list_value = json::Array{};
  json::Array& list = list_value.get_array();
  const auto present =
      std::find_if(list.begin(), list.end(), [&](const json::Value& item) { return has_type(item, condition.type); });
  const std::string_view status = to_string(condition.status);

  json::Object next;
  bool status_stays = false;
  if (present != list.end()) {
    next = present->get_object();
    status_stays = json::find_string(*present, {"status"}) == status;
    if (status_stays && json::find_string(*present, {"reason"}).value_or("") == condition.reason &&
        json::find_string(*present, {"message"}).value_or("") == message) {
      return false;
    }
  }
  next["type"] = condition.type;
  next["status"] = status;
  const auto since = next.find("lastTransitionTime");
  if (!status_stays || since == next.end() || !since->value().is_string()) {
    next["lastTransitionTime"] = format_rfc3339(now);
  }
  next["reason"] = condition.reason;
  next["message"] = message;

  if (present != list.end() && place == ConditionPlace::kSame) {
    *present = std::move(next);
  } else {
    erase_type(list, condition.type);
    list.emplace_back(std::move(next));
  }
  return true;
}

bool remove_condition(json::Value& object, std::string_view type) {
  json::Array* list = condition_list(object);
  return list != nullptr && erase_type(*list, type) > 0;
}

}  // namespace strake::api
