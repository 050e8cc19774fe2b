#include "api/conditions.h"

#include <gtest/gtest.h>

#include "base/time.h"

namespace strake::api::conditions_test {

using namespace std::chrono_literals;

std::chrono::system_clock::time_point at(std::string_view text) { return *parse_rfc3339(text); }

constexpr std::string_view kThen = "2026-01-01T00:00:00Z";
constexpr std::string_view kNow = "2026-01-02T03:04:05Z";

json::Value pool_with_two() {
  return *json::parse(R"({"kind":"MachineConfigPool","status":{"machineCount":3,"conditions":[
    {"type":"Updated","status":"False","reason":"old","message":"m","lastTransitionTime":"2026-01-01T00:00:00Z","severity":"kept"},
    {"type":"Updating","status":"True","reason":"","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}})");
}

std::string types_of(const json::Value& object) {
  std::string types;
  for (const json::Value& item : json::find(object, {"status", "conditions"})->as_array()) {
    types += *json::find_string(item, {"type"}) + " ";
  }
  return types;
}

struct SetCase {
  std::string_view name;
  Condition condition;
  bool changes;
  std::string_view transition;
  std::string_view order;
};

TEST(SetCondition, FollowsThePoolRule) {
  const SetCase cases[] = {
      {"the same again", {"Updated", ConditionStatus::kFalse, "old", "m", ""}, false, kThen, "Updated Updating "},
      {"another status", {"Updated", ConditionStatus::kTrue, "old", "m", ""}, true, kNow, "Updating Updated "},
      {"another message", {"Updated", ConditionStatus::kFalse, "old", "n", ""}, true, kThen, "Updating Updated "},
      {"another reason", {"Updated", ConditionStatus::kFalse, "new", "m", ""}, true, kThen, "Updating Updated "},
      {"a new type", {"Degraded", ConditionStatus::kUnknown, "", "", ""}, true, kNow, "Updated Updating Degraded "},
      {"absent and empty are equal",
       {"Updating", ConditionStatus::kTrue, "", "", ""},
       false,
       kThen,
       "Updated Updating "},
  };
  for (const SetCase& test : cases) {
    SCOPED_TRACE(test.name);
    json::Value pool = pool_with_two();
    EXPECT_EQ(set_condition(pool, test.condition, at(kNow)), test.changes);
    EXPECT_EQ(types_of(pool), test.order);
    const auto found = find_condition(pool, test.condition.type);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->status, test.condition.status);
    EXPECT_EQ(found->reason, test.condition.reason);
    EXPECT_EQ(found->message, test.condition.message);
    EXPECT_EQ(found->last_transition_time, test.transition);
    EXPECT_EQ(json::find_int(pool, {"status", "machineCount"}), 3);
    EXPECT_EQ(json::write(pool) != json::write(pool_with_two()), test.changes);
  }
}

TEST(SetCondition, KeepsUnknownMembers) {
  json::Value pool = pool_with_two();
  ASSERT_TRUE(set_condition(pool, {"Updated", ConditionStatus::kTrue, "r", "m", ""}, at(kNow)));
  const json::Value& updated = json::find(pool, {"status", "conditions"})->as_array()[1];
  EXPECT_EQ(json::find_string(updated, {"severity"}), "kept");
}

TEST(SetCondition, CanKeepThePlace) {
  json::Value node = pool_with_two();
  ASSERT_TRUE(set_condition(node, {"Updated", ConditionStatus::kTrue, "r", "m", ""}, at(kNow), ConditionPlace::kSame));
  EXPECT_EQ(types_of(node), "Updated Updating ");
  EXPECT_TRUE(condition_is_true(node, "Updated"));
}

TEST(SetCondition, CreatesWhatIsMissingAndRepairsWhatIsWrong) {
  for (const char* text : {"{}", R"({"status":null})", R"({"status":{"conditions":"x"}})"}) {
    SCOPED_TRACE(text);
    json::Value object = *json::parse(text);
    EXPECT_TRUE(set_condition(object, {"Ready", ConditionStatus::kTrue, "", "", ""}, at(kNow)));
    EXPECT_TRUE(condition_is_true(object, "Ready"));
  }
}

TEST(SetCondition, LeavesOneOfATypeThatWasThereTwice) {
  json::Value object =
      *json::parse(R"({"status":{"conditions":[{"type":"A","status":"True"},{"type":"A","status":"False"}]}})");
  EXPECT_TRUE(set_condition(object, {"A", ConditionStatus::kUnknown, "r", "", ""}, at(kNow)));
  EXPECT_EQ(types_of(object), "A ");
}

TEST(SetCondition, FillsAMissingTransitionTime) {
  json::Value object =
      *json::parse(R"({"status":{"conditions":[{"type":"A","status":"True","lastTransitionTime":null}]}})");
  EXPECT_TRUE(set_condition(object, {"A", ConditionStatus::kTrue, "r", "", ""}, at(kNow)));
  EXPECT_EQ(find_condition(object, "A")->last_transition_time, kNow);
}

TEST(RemoveCondition, TellsWhetherThereWasOne) {
  json::Value pool = pool_with_two();
  EXPECT_TRUE(remove_condition(pool, "Updated"));
  EXPECT_FALSE(remove_condition(pool, "Updated"));
  EXPECT_EQ(types_of(pool), "Updating ");
  EXPECT_FALSE(find_condition(pool, "Updated").has_value());
}

TEST(ConditionStatusText, RoundTripsAndRefuses) {
  for (const ConditionStatus status : {ConditionStatus::kTrue, ConditionStatus::kFalse, ConditionStatus::kUnknown}) {
    EXPECT_EQ(*parse_condition_status(to_string(status)), status);
  }
  EXPECT_EQ(parse_condition_status("true").error().code(), Code::kInvalidArgument);
}

TEST(Conditions, MessagesCarryNoSecrets) {
  json::Value object = json::Object{};
  const auto now = std::chrono::system_clock::time_point();
  const Condition condition{"Degraded", ConditionStatus::kTrue, "R", "GET https://u:p@h/v2/: 401 \x1b[2J", ""};
  EXPECT_TRUE(set_condition(object, condition, now));
  EXPECT_EQ(find_condition(object, "Degraded")->message, "GET https://(hidden)@h/v2/: 401 \\u001b[2J");
  EXPECT_FALSE(set_condition(object, condition, now)) << "the same words again are no change";
}

}  // namespace strake::api::conditions_test
