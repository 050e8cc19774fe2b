// How many seeds a simulation tries. All simulations of a test run share kSharedSeeds; STRAKE_SEEDS=N shares out N
// instead.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace strake::simulation {

inline constexpr std::uint64_t kSharedSeeds = 500;

/// Of kSharedSeeds; together they make 500. A planted mistake is caught sooner, so it rarely takes all of its share.
inline constexpr std::uint64_t kReleaseToNodeShare = 326;
inline constexpr std::uint64_t kIdentityShare = 4;
inline constexpr std::uint64_t kDrainShare = 10;
inline constexpr std::uint64_t kPlantedShare = 40;  ///< of each of four

inline std::uint64_t seeds_of_share(std::uint64_t share) {
  const char* asked_for = std::getenv("STRAKE_SEEDS");
  const std::uint64_t total = asked_for == nullptr ? kSharedSeeds : std::strtoull(asked_for, nullptr, 10);
  return std::max<std::uint64_t>(1, share * total / kSharedSeeds);
}

}  // namespace strake::simulation
