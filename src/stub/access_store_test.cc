#include "stub/access_store.h"

#include <gtest/gtest.h>

#include "api/roles.h"
#include "base/simulation.h"
#include "codec/base64.h"
#include "kube/testing/fake_api.h"
#include "stub/callers.h"

namespace strake::stub::access_store_test {

using namespace std::chrono_literals;

/// Runs `body` as a task of the simulation, to its end.
void in_simulation(sim::Simulation& simulation, const std::function<void()>& body) {
  runtime::Task task = simulation.spawn("test", [&](std::stop_token) { body(); });
  simulation.run();
}

AccessBook with_token_named(const AccessBook& book, const std::string& id) {
  const std::chrono::sys_seconds now{1'800'000'000s};
  return with_new_token(book, {id, "worker", token_sha256(id), now, now + 1h}, now);
}

TEST(AccessStore, MakesTheSecretAndKeepsWhatOthersWrote) {
  sim::Simulation simulation(1);
  kube::testing::FakeServer server(simulation);
  kube::testing::FakeClient api(server);
  in_simulation(simulation, [&] {
    EXPECT_EQ(load_access(api, {})->mode(), AccessMode::kOpen) << "there is no Secret";
    for (const char* id : {"one", "two"}) {
      const auto changed =
          change_access(simulation, api, [&](const AccessBook& book) { return with_token_named(book, id); }, {});
      EXPECT_TRUE(changed.ok()) << changed.error().to_string();
    }
    EXPECT_EQ(load_access(api, {})->tokens().size(), 2U);
    EXPECT_TRUE(api.get(kube::core::kConfigMap, callers_key(), {}).ok());
    const auto refused = change_access(
        simulation, api, [](const AccessBook&) -> Result<AccessBook> { return error(Code::kNotFound, "no"); }, {});
    EXPECT_EQ(refused.error().code(), Code::kNotFound);
    // Somebody breaks it: nobody writes over what cannot be read.
    kube::Object broken = *api.get(kube::core::kSecret, access_key(), {});
    json::ensure(broken.json(), {"data", "tokens"}) = codec::encode_base64("nonsense");
    EXPECT_TRUE(api.update(kube::core::kSecret, broken, {}, {}).ok());
    EXPECT_FALSE(load_access(api, {}).ok());
    EXPECT_FALSE(change_access(simulation, api, [](const AccessBook& book) { return book; }, {}).ok());
  });
}

TEST(AccessStore, ManyAtOnceLoseNoToken) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    sim::Simulation simulation(seed);
    kube::testing::FakeServer server(simulation);
    kube::testing::FakeClient api(server);
    int made = 0;
    {
      std::vector<runtime::Task> writers;
      for (int i = 0; i < 4; ++i) {
        writers.push_back(simulation.spawn("writer", [&, i](std::stop_token) {
          const auto changed = change_access(
              simulation, api,
              [&](const AccessBook& book) { return with_token_named(book, fmt::format("token{}", i)); },
              simulation.call_within(1min));
          made += changed.ok() ? 1 : 0;
        }));
      }
      simulation.run();
    }
    in_simulation(simulation,
                  [&] { EXPECT_EQ(static_cast<int>(load_access(api, {})->tokens().size()), made) << "seed " << seed; });
    EXPECT_GE(made, 2) << "seed " << seed;
  }
}

}  // namespace strake::stub::access_store_test
