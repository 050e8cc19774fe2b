// Mistakes planted in the rollout's decisions, one at a time: the simulation must catch each.
#include <gtest/gtest.h>

#include "api/node.h"
#include "simulation/lagging_rollout.h"
#include "simulation/seeds.h"
#include "simulation/world.h"

namespace strake::simulation {
namespace {

void expect_caught(const rollout::RolloutPolicy& mistake) {
  WorldOptions options;
  options.rollout_policy = mistake;
  const auto caught = first_violation(options, seeds_of_share(kPlantedShare));
  ASSERT_TRUE(caught.has_value()) << "no seed noticed the planted mistake";
  std::printf("caught: %s\n", caught->c_str());
}

TEST(Planted, ANodeThatIsBeingUpdatedIsForgottenInTheCountOfThoseAway) {
  rollout::RolloutPolicy mistake;
  mistake.occupies_capacity = [](const api::NodeView& node) { return !node.ready(); };
  expect_caught(mistake);
}

TEST(Planted, WhatWasWrittenCountsOnlyOnceTheCacheShowsIt) {
  rollout::RolloutPolicy mistake;
  mistake.counts_unseen_writes = false;
  const std::uint64_t kSeeds = seeds_of_share(kPlantedShare);
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const auto violations = LaggingRollout(seed, mistake).run();
    if (violations.empty()) continue;
    std::printf("caught at seed %llu: %s\n", static_cast<unsigned long long>(seed), violations.front().c_str());
    return;
  }
  FAIL() << kSeeds << " seeds did not notice the planted mistake";
}

TEST(Planted, ThePatchCarriesAnAnnotationOfSomebodyElseAsItOnceWas) {
  rollout::RolloutPolicy mistake;
  mistake.target_patch = [](const std::string& config, machineconfig::DisruptionClass planned) {
    json::Value patch = rollout::target_patch(config, planned);
    json::ensure(patch, {"metadata", "annotations", kForeignAnnotation}) = "0";
    return patch;
  };
  expect_caught(mistake);
}

}  // namespace
}  // namespace strake::simulation
