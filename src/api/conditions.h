// status.conditions of any object: reading, and writing by the platform's rule, so that watchers see no empty changes.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/json.h"

namespace strake::api {

enum class ConditionStatus { kTrue, kFalse, kUnknown };
std::string_view to_string(ConditionStatus status);
Result<ConditionStatus> parse_condition_status(std::string_view text);

struct Condition {
  std::string type;
  ConditionStatus status = ConditionStatus::kUnknown;
  std::string reason;
  std::string message;
  std::string last_transition_time;  ///< read only: set_condition writes the time it is given
};

/// The status of any object, or nullptr.
const json::Value* status_of(const json::Value& object);
/// {conditions: [...]}: what a patch of the status needs to write the conditions of `object` and nothing else.
json::Value conditions_status(const json::Value& object);
/// The same as a merge patch of the object: {status: {conditions: [...]}}.
json::Value conditions_patch(const json::Value& object);

/// A status other than True and False reads as kUnknown.
std::optional<Condition> find_condition(const json::Value& object, std::string_view type);
bool condition_is_true(const json::Value& object, std::string_view type);

/// Where a changed condition ends up in the list.
enum class ConditionPlace {
  kEnd,   ///< MachineConfigPool, ControllerConfig and the other kinds with an atomic list
  kSame,  ///< kinds whose list is a map by type
};

/// Nothing is written when status, reason and message stay as they are; lastTransitionTime is kept when only the status
/// stays. Unknown members of the condition survive. Returns whether the object changed.
bool set_condition(json::Value& object, const Condition& condition, std::chrono::system_clock::time_point now,
                   ConditionPlace place = ConditionPlace::kEnd);

/// Removes every condition of this type; true when there was one.
bool remove_condition(json::Value& object, std::string_view type);

}  // namespace strake::api
