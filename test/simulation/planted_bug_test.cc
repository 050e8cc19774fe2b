// Linked once with each planted mistake: the simulation must catch it.
#include <gtest/gtest.h>

#include "simulation/world.h"

namespace strake::simulation {
namespace {

TEST(PlantedBug, IsCaughtBySomeSeed) {
  constexpr std::uint64_t kSeeds = 40;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    World world({.seed = seed});
    world.run();
    if (world.violations().empty()) continue;
    std::printf("caught at seed %llu: %s\n", static_cast<unsigned long long>(seed), world.violations().front().c_str());
    return;
  }
  FAIL() << kSeeds << " seeds did not notice the planted mistake";
}

}  // namespace
}  // namespace strake::simulation
