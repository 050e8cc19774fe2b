// Letting virtual time pass in a test.
#pragma once

#include "base/simulation.h"

namespace strake::kube::testing {

/// Runs the simulation's tasks until exactly this much virtual time has passed, even if all of them wait for something
/// else.
inline void run_for(sim::Simulation& simulation, runtime::Duration duration,
                    const std::function<void()>& after_each_step = nullptr) {
  runtime::Task clock =
      simulation.spawn("clock", [&](std::stop_token stop) { (void)simulation.sleep(duration, stop); });
  sim::RunLimits limits;
  limits.virtual_time = 2 * duration + std::chrono::seconds(1);
  const sim::RunEnd end = simulation.run(limits, [&] {
    if (after_each_step) after_each_step();
    return clock.done();
  });
  STRAKE_INVARIANT(end == sim::RunEnd::kConditionMet);
}

}  // namespace strake::kube::testing
