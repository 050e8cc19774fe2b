// The way from a release to the nodes, simulated over the real store: many seeds with faults and crashes, nothing may
// break.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "simulation/seeds.h"
#include "simulation/world.h"

namespace strake::simulation {
namespace {

/// Every kind that can happen here; lists of a small cluster have one page, so none of them expires half-way.
std::map<std::string, std::uint64_t> fault_kinds(const World& world) {
  const apistore::FaultCounts& counts = world.faults();
  return {{"conflicts", counts.conflicts},
          {"lost requests", counts.lost_requests},
          {"lost answers", counts.lost_answers},
          {"slow calls", counts.slow_calls},
          {"dropped streams", counts.watch_drops},
          {"repeated events", counts.watch_repeats},
          {"expired streams", counts.watch_expiries},
          {"late events", counts.watch_lags},
          {"calls of dead processes", counts.fenced_calls},
          {"boots that fell back", world.machine_faults().failed_boots},
          {"drifted files", world.machine_faults().drifted_files},
          {"failed writes", world.machine_faults().failed_writes}};
}

std::string describe(const World& world, std::uint64_t seed) {
  std::string text = fmt::format("seed {} (replay it with STRAKE_SEED={}):", seed, seed);
  for (const std::string& violation : world.violations()) text += "\n  " + violation;
  return text;
}

TEST(ReleaseToNodeSimulation, EverySeedSettlesAsPlannedUnderFaultsAndCrashes) {
  if (const char* only = std::getenv("STRAKE_SEED")) {
    World world({.seed = std::strtoull(only, nullptr, 10), .keep_trace = true});
    world.run();
    for (const std::string& line : world.trace()) std::printf("%s\n", line.c_str());
    std::printf("%llu steps\n", static_cast<unsigned long long>(world.steps()));
    EXPECT_TRUE(world.violations().empty()) << describe(world, std::strtoull(only, nullptr, 10));
    return;
  }
  std::map<std::string, std::uint64_t> fired;
  std::uint64_t crashes = 0, steps = 0;
  const std::uint64_t seeds = seeds_of_share(kReleaseToNodeShare);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    World world({.seed = seed});
    world.run();
    ASSERT_TRUE(world.violations().empty()) << describe(world, seed);
    for (const auto& [kind, count] : fault_kinds(world)) fired[kind] += count;
    crashes += world.crashes();
    steps += world.steps();
  }
  std::string summary = fmt::format("{} seeds, {} steps, {} crashes; faults:", seeds, steps, crashes);
  for (const auto& [kind, count] : fired) {
    summary += fmt::format(" {} {}", count, kind);
    EXPECT_GT(count, 0u) << kind << " never happened";
  }
  std::printf("%s\n", summary.c_str());
  EXPECT_GT(crashes, seeds);
}

TEST(ReleaseToNodeSimulation, ASeedReplaysByteForByte) {
  for (const std::uint64_t seed : {3u, 17u}) {
    World first({.seed = seed, .keep_trace = true}), again({.seed = seed, .keep_trace = true});
    first.run();
    again.run();
    EXPECT_EQ(first.trace_hash(), again.trace_hash());
    EXPECT_EQ(first.trace(), again.trace());
  }
}

}  // namespace
}  // namespace strake::simulation
