#include "base/simulation.h"

#include <gtest/gtest.h>

#include <map>

#include "base/runtime.h"

namespace strake::simulation_test {

using runtime::Call;
using runtime::Duration;
using namespace std::chrono_literals;

/// A register with versions, as an API server keeps an object; reading and writing are scheduling points.
class VersionedRegister {
 public:
  explicit VersionedRegister(sim::Simulation& simulation) : simulation_(simulation) {}

  std::pair<int, int> read() {
    simulation_.yield("read");
    return {value_, version_};
  }
  bool write_if(int version, int value) {
    simulation_.yield("write_if");
    if (version != version_) return false;
    value_ = value;
    ++version_;
    return true;
  }
  void write_blindly(int value) {
    simulation_.yield("write_blindly");
    value_ = value;
    ++version_;
  }
  int value() const { return value_; }

 private:
  sim::Simulation& simulation_;
  int value_ = 0;
  int version_ = 0;
};

constexpr int kControllers = 3;
constexpr int kIncrements = 10;

struct RaceResult {
  int total;
  std::uint64_t hash;
  std::vector<std::string> trace;
};

RaceResult race(std::uint64_t seed, bool planted_lost_update) {
  sim::Simulation simulation(seed);
  simulation.keep_trace(true);
  VersionedRegister shared(simulation);
  std::vector<runtime::Task> controllers;
  for (int i = 0; i < kControllers; ++i) {
    controllers.push_back(simulation.spawn(fmt::format("controller-{}", i), [&](std::stop_token stop) {
      for (int done = 0; done < kIncrements;) {
        const auto [value, version] = shared.read();
        if (planted_lost_update) {
          shared.write_blindly(value + 1);
          ++done;
        } else if (shared.write_if(version, value + 1)) {
          ++done;
        } else if (!simulation.sleep(1ms, stop).ok()) {
          return;
        }
      }
    }));
  }
  EXPECT_EQ(simulation.run(), sim::RunEnd::kAllDone);
  return {shared.value(), simulation.trace_hash(), simulation.trace()};
}

TEST(Simulation, RacingControllersReplayByteForByteFromTheirSeed) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const RaceResult first = race(seed, false);
    const RaceResult again = race(seed, false);
    EXPECT_EQ(first.hash, again.hash) << "seed " << seed;
    EXPECT_EQ(first.trace, again.trace) << "seed " << seed;
  }
  EXPECT_NE(race(1, false).hash, race(2, false).hash);
}

TEST(Simulation, FindsAPlantedLostUpdateAndPassesTheCorrectCode) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    EXPECT_EQ(race(seed, false).total, kControllers * kIncrements) << "seed " << seed;
    if (race(seed, true).total != kControllers * kIncrements) ++found;
  }
  EXPECT_EQ(found, 50);
}

TEST(Simulation, TimeIsVirtualAndJumpsToTheEarliestDeadline) {
  sim::Simulation simulation(7);
  std::vector<std::string> order;
  auto slow = simulation.spawn("slow", [&](std::stop_token stop) {
    ASSERT_TRUE(simulation.sleep(10h, stop).ok());
    order.push_back("slow");
  });
  auto quick = simulation.spawn("quick", [&](std::stop_token stop) {
    ASSERT_TRUE(simulation.sleep(1h, stop).ok());
    order.push_back("quick");
  });
  EXPECT_EQ(simulation.run(), sim::RunEnd::kAllDone);
  EXPECT_EQ(order, (std::vector<std::string>{"quick", "slow"}));
  EXPECT_EQ(simulation.now().time_since_epoch(), 10h);
}

TEST(Simulation, StopEndsAWaitAtOnce) {
  sim::Simulation simulation(3);
  Code ended = Code::kInternal;
  auto sleeper = simulation.spawn("sleeper", [&](std::stop_token stop) {
    const Status slept = simulation.sleep(100h, stop);
    ASSERT_FALSE(slept.ok());
    ended = slept.error().code();
  });
  auto stopper = simulation.spawn("stopper", [&](std::stop_token stop) {
    ASSERT_TRUE(simulation.sleep(1s, stop).ok());
    sleeper.request_stop();
  });
  EXPECT_EQ(simulation.run(), sim::RunEnd::kAllDone);
  EXPECT_EQ(ended, Code::kCancelled);
  EXPECT_EQ(simulation.now().time_since_epoch(), 1s);
}

TEST(Simulation, JoiningATaskLetsTimePass) {
  sim::Simulation simulation(5);
  bool joined = false;
  auto parent = simulation.spawn("parent", [&](std::stop_token) {
    auto child = simulation.spawn("child", [&](std::stop_token) { (void)simulation.sleep(1h, {}); });
    child.join();
    joined = true;
  });
  EXPECT_EQ(simulation.run(), sim::RunEnd::kAllDone);
  EXPECT_TRUE(joined);
  EXPECT_EQ(simulation.now().time_since_epoch(), 1h);
}

TEST(Simulation, ATaskThatCanNeverRunAgainIsReported) {
  sim::Simulation simulation(3);
  runtime::Queue<int> queue(simulation);
  auto reader = simulation.spawn("reader", [&](std::stop_token stop) { (void)queue.pop(Call{stop, {}}); });
  EXPECT_EQ(simulation.run(), sim::RunEnd::kIdle);
}

/// The same behaviour on both runtimes: code written against one works on the other.
template <typename RunBody>
void queue_scenario(runtime::Runtime& runtime, RunBody run_body) {
  runtime::Queue<int> queue(runtime);
  std::vector<int> received;
  auto consumer = runtime.spawn("consumer", [&](std::stop_token stop) {
    while (true) {
      Result<int> item = queue.pop(Call{stop, {}});
      if (!item.ok()) return;
      received.push_back(*item);
    }
  });
  auto producer = runtime.spawn("producer", [&](std::stop_token) {
    for (int i = 0; i < 100; ++i) queue.push(i);
    queue.close();
  });
  run_body();
  producer.join();
  consumer.join();
  ASSERT_EQ(received.size(), 100u);
  EXPECT_EQ(received.back(), 99);
  EXPECT_FALSE(queue.push(1));
}

TEST(Runtime, QueueDeliversAllInOrderThenEndsInSimulation) {
  sim::Simulation simulation(11);
  queue_scenario(simulation, [&] { EXPECT_EQ(simulation.run(), sim::RunEnd::kAllDone); });
}

TEST(Runtime, QueueDeliversAllInOrderThenEndsOnThreads) {
  runtime::ThreadRuntime threads;
  queue_scenario(threads, [] {});
}

TEST(Runtime, WaitingEndsByTimeoutOrStopOnThreads) {
  runtime::ThreadRuntime threads;
  runtime::Queue<int> queue(threads);
  Result<int> timed_out = queue.pop(threads.call_within(1ms));
  ASSERT_FALSE(timed_out.ok());
  EXPECT_EQ(timed_out.error().code(), Code::kTimeout);
  std::stop_source stop;
  stop.request_stop();
  Result<int> cancelled = queue.pop(Call{stop.get_token(), {}});
  ASSERT_FALSE(cancelled.ok());
  EXPECT_EQ(cancelled.error().code(), Code::kCancelled);
}

TEST(Runtime, DestroyingATaskStopsAndJoinsIt) {
  runtime::ThreadRuntime threads;
  bool stopped = false;
  {
    auto task = threads.spawn("sleeper", [&](std::stop_token stop) { stopped = !threads.sleep(1h, stop).ok(); });
  }
  EXPECT_TRUE(stopped);
}

}  // namespace strake::simulation_test
