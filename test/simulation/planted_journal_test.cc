// Planted mistake: the agent writes nothing down before the reboot. The simulation must notice.
#include <gtest/gtest.h>

#include "simulation/seeds.h"
#include "simulation/world.h"

namespace strake::simulation {
namespace {

TEST(Planted, AnAgentThatForgetsTheRebootIsCaught) {
  WorldOptions options;
  options.agent_policy.journal_before_reboot = [](const agent::Journal&) { return std::nullopt; };
  const auto caught = first_violation(options, seeds_of_share(kPlantedShare));
  ASSERT_TRUE(caught.has_value()) << "no seed noticed the planted mistake";
  std::printf("caught: %s\n", caught->c_str());
}

}  // namespace
}  // namespace strake::simulation
