#include "kube/patch.h"

#include <gtest/gtest.h>

#include "base/simulation.h"
#include "codec/json_patch.h"
#include "kube/testing/fake_api.h"

namespace strake::kube::patch_test {

using testing::FakeClient;
using testing::FakeServer;

json::Value parsed(std::string_view text) { return *json::parse(text); }

TEST(OwnFieldsPatch, HoldsOnlyWhatDiffers) {
  struct Case {
    const char* name;
    const char* observed;
    const char* own;
    const char* patch;  ///< nullptr: nothing to do
  };
  const Case cases[] = {
      {"equal", R"({"a":1,"b":2})", R"({"a":1})", nullptr},
      {"numbers by value", R"({"a":1})", R"({"a":1.0})", nullptr},
      {"changed", R"({"a":1,"b":2})", R"({"a":3})", R"({"a":3})"},
      {"nested", R"({"s":{"x":1,"y":2}})", R"({"s":{"x":1,"y":3}})", R"({"s":{"y":3}})"},
      {"new object", R"({})", R"({"s":{"x":1,"gone":null}})", R"({"s":{"x":1}})"},
      {"removed", R"({"s":{"x":1}})", R"({"s":{"x":null}})", R"({"s":{"x":null}})"},
      {"already absent", R"({"s":{}})", R"({"s":{"x":null}})", nullptr},
      {"absent parent of a removal", R"({})", R"({"s":{"x":null}})", nullptr},
      {"empty object wanted", R"({})", R"({"s":{}})", R"({"s":{}})"},
      {"lists are whole", R"({"l":[1,2]})", R"({"l":[1]})", R"({"l":[1]})"},
      {"other type", R"({"s":"text"})", R"({"s":{"x":1}})", R"({"s":{"x":1}})"},
  };
  for (const Case& c : cases) {
    const auto patch = own_fields_patch(parsed(c.observed), parsed(c.own));
    ASSERT_EQ(patch.has_value(), c.patch != nullptr) << c.name << (patch ? json::write(*patch) : "");
    if (!patch) continue;
    EXPECT_EQ(json::write(*patch), c.patch) << c.name;
    // Once applied there is nothing left to do.
    EXPECT_FALSE(own_fields_patch(json::apply_merge_patch(parsed(c.observed), *patch), parsed(c.own))) << c.name;
  }
}

TEST(MergePatchOwnFields, RefusesOrOverwritesAChangedObject) {
  sim::Simulation simulation(1);
  FakeServer server(simulation);
  FakeClient client(server);
  const ObjectKey key{"", "n"};
  const Object observed = *client.create(core::kNode, Object(core::kNode, key), {}, {});
  ASSERT_TRUE(client.patch(core::kNode, key, PatchType::kMerge, parsed(R"({"spec":{"other":1}})"), {}, {}).ok());

  const json::Value own = parsed(R"({"spec":{"mine":1}})");
  const Result<Object> refused = merge_patch_own_fields(client, core::kNode, observed, own, IfChanged::kRefuse, {}, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kConflict);
  const Result<Object> written =
      merge_patch_own_fields(client, core::kNode, observed, own, IfChanged::kOverwrite, {}, {});
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(json::write(*json::find(written->json(), {"spec"})), R"({"other":1,"mine":1})");

  const int patches = client.counts().patch;
  const Result<Object> same = merge_patch_own_fields(client, core::kNode, *written, own, IfChanged::kRefuse, {}, {});
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(client.counts().patch, patches);
  const Result<Object> status =
      apply_status_patch(client, core::kNode, *written, parsed(R"({"phase":"Done"})"), IfChanged::kRefuse, {});
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(status->text({"status", "phase"}), "Done");
}

TEST(RetryOnConflict, TriesAgainAFewTimes) {
  sim::Simulation simulation(1);
  int good_after_three = 0, always_conflict = 0, not_found = 0, stopped = 0;
  auto task = simulation.spawn("test", [&](std::stop_token stop) {
    const Call call{stop, {}};
    EXPECT_TRUE(retry_on_conflict(simulation, call, [&]() -> Result<int> {
                  if (++good_after_three < 3) return error(Code::kConflict, "changed");
                  return 1;
                }).ok());
    EXPECT_EQ(retry_on_conflict(simulation, call,
                                [&]() -> Status {
                                  ++always_conflict;
                                  return error(Code::kConflict, "changed");
                                })
                  .error()
                  .code(),
              Code::kConflict);
    EXPECT_FALSE(retry_on_conflict(simulation, call, [&]() -> Status {
                   ++not_found;
                   return error(Code::kNotFound, "gone");
                 }).ok());
    std::stop_source source;
    source.request_stop();
    EXPECT_FALSE(retry_on_conflict(simulation, {source.get_token(), {}}, [&]() -> Status {
                   ++stopped;
                   return error(Code::kConflict, "changed");
                 }).ok());
  });
  EXPECT_EQ(simulation.run(), sim::RunEnd::kAllDone);
  EXPECT_EQ(good_after_three, 3);
  EXPECT_EQ(always_conflict, kConflictAttempts);
  EXPECT_EQ(not_found, 1);
  EXPECT_EQ(stopped, 1);
}

}  // namespace strake::kube::patch_test
