#include "kube/work_queue.h"

#include <gtest/gtest.h>

#include "base/simulation.h"

namespace strake::kube::work_queue_test {

using namespace std::chrono_literals;

const ObjectKey kA{"", "a"};
const ObjectKey kB{"ns", "b"};

/// Runs `body` as the only task of a simulation, to its end.
void in_simulation(const std::function<void(sim::Simulation&, std::stop_token)>& body) {
  sim::Simulation simulation(1);
  auto task = simulation.spawn("test", [&](std::stop_token stop) { body(simulation, stop); });
  EXPECT_EQ(simulation.run(), sim::RunEnd::kAllDone);
}

TEST(WorkQueue, AKeyThatWaitsIsOnePieceOfWork) {
  in_simulation([](sim::Simulation& simulation, std::stop_token stop) {
    WorkQueue queue(simulation);
    queue.add(kA);
    queue.add(kB);
    queue.add(kA);
    EXPECT_EQ(*queue.get({stop, {}}), kA);
    EXPECT_EQ(*queue.get({stop, {}}), kB);
    const Result<ObjectKey> none = queue.get(simulation.call_within(1s));
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().code(), Code::kTimeout);
  });
}

TEST(WorkQueue, AKeyAddedWhileHandledComesBackOnlyAfterDone) {
  in_simulation([](sim::Simulation& simulation, std::stop_token stop) {
    WorkQueue queue(simulation);
    queue.add(kA);
    EXPECT_EQ(*queue.get({stop, {}}), kA);
    queue.add(kA);
    queue.add(kA);
    EXPECT_FALSE(queue.get(simulation.call_within(1s)).ok());
    queue.done(kA);
    EXPECT_EQ(*queue.get({stop, {}}), kA);
    queue.done(kA);
    EXPECT_FALSE(queue.get(simulation.call_within(1s)).ok());
  });
}

TEST(WorkQueue, DelaysAreVirtualAndTheEarliestCounts) {
  in_simulation([](sim::Simulation& simulation, std::stop_token stop) {
    WorkQueue queue(simulation);
    const auto start = simulation.now();
    queue.add_after(kA, 10s);
    queue.add_after(kB, 5s);
    queue.add_after(kA, 2s);
    queue.add_after(kA, 20s);
    EXPECT_EQ(queue.stats().delayed, 2u);
    EXPECT_EQ(*queue.get({stop, {}}), kA);
    EXPECT_EQ(simulation.now() - start, 2s);
    EXPECT_EQ(*queue.get({stop, {}}), kB);
    EXPECT_EQ(simulation.now() - start, 5s);
    EXPECT_FALSE(queue.get(simulation.call_within(1h)).ok());
    queue.add_after(kA, 0s);
    queue.done(kA);
    EXPECT_EQ(*queue.get({stop, {}}), kA);
  });
}

TEST(WorkQueue, FailuresComeBackLaterEachTimeUntilForgotten) {
  in_simulation([](sim::Simulation& simulation, std::stop_token stop) {
    RateLimits limits;
    limits.longest_retry = 60ms;
    WorkQueue queue(simulation, limits);
    std::vector<Duration> delays;
    const auto fail_once = [&] {
      const auto start = simulation.now();
      queue.add_rate_limited(kA);
      EXPECT_EQ(*queue.get({stop, {}}), kA);
      queue.done(kA);
      delays.push_back(simulation.now() - start);
    };
    for (int i = 0; i < 6; ++i) fail_once();
    EXPECT_EQ(queue.failures(kA), 6u);
    queue.forget(kA);
    fail_once();
    EXPECT_EQ(delays, (std::vector<Duration>{5ms, 20ms, 60ms, 60ms, 60ms, 60ms, 5ms}));
  });
}

TEST(WorkQueue, AFailingKeyIsNotWokenByWhatItWroteItself) {
  in_simulation([](sim::Simulation& simulation, std::stop_token stop) {
    WorkQueue queue(simulation, {.first_retry = 10s});
    queue.add(kA);
    EXPECT_EQ(*queue.get({stop, {}}), kA);
    queue.touch(kA);  // the event of its write may come while it is still at work
    queue.add_rate_limited(kA);
    queue.done(kA);
    queue.touch(kA);  // or later
    const auto start = simulation.now();
    EXPECT_EQ(*queue.get({stop, {}}), kA);
    EXPECT_EQ(simulation.now() - start, 10s);
    queue.touch(kA);
    queue.forget(kA);  // this time it went well: the change is looked at
    queue.done(kA);
    EXPECT_EQ(*queue.get({stop, {}}), kA);
    queue.done(kA);
    queue.touch(kA);
    EXPECT_EQ(*queue.get({stop, {}}), kA);
    EXPECT_EQ(simulation.now() - start, 10s);
  });
}

TEST(WorkQueue, NewsBringsAFailingKeyForwardButNotWithoutPause) {
  in_simulation([](sim::Simulation& simulation, std::stop_token stop) {
    WorkQueue queue(simulation, {.first_retry = 1h, .longest_retry = 1h, .news_pause = 500ms});
    queue.add(kA);
    int runs = 0;
    const auto end = simulation.now() + 10s;
    auto news = simulation.spawn("news", [&](std::stop_token news_stop) {
      while (simulation.sleep(1ms, news_stop).ok()) queue.add(kA);
    });
    while (queue.get({stop, end}).ok()) {
      ++runs;
      queue.add_rate_limited(kA);
      queue.done(kA);
    }
    EXPECT_GE(runs, 19);
    EXPECT_LE(runs, 21);
    news.stop_and_join();
    queue.add(kA);
    const auto start = simulation.now();
    EXPECT_TRUE(queue.get(simulation.call_within(2h)).ok());
    EXPECT_LE(simulation.now() - start, 500ms);
    queue.forget(kA);
    queue.done(kA);
    EXPECT_FALSE(queue.get(simulation.call_within(2h)).ok()) << "the retry that news replaced does not come as well";
  });
}

TEST(WorkQueue, EvenAKeyThatNeverFailsRunsOnlySoOften) {
  in_simulation([](sim::Simulation& simulation, std::stop_token stop) {
    WorkQueue queue(simulation, {.runs_per_second = 5, .run_burst = 50});
    queue.add(kA);
    int runs = 0;
    const auto end = simulation.now() + 60s;
    while (queue.get({stop, end}).ok()) {
      ++runs;
      queue.add(kA);  // writes, sees its write, writes again
      queue.forget(kA);
      queue.done(kA);
    }
    EXPECT_GE(runs, 300);
    EXPECT_LE(runs, 351);
  });
}

TEST(WorkQueue, AllRetriesTogetherAreHeldToTheBucket) {
  RetryDelays delays({.longest_retry = 1000s, .per_second = 10, .burst = 3});
  const runtime::TimePoint start{};
  std::vector<Duration> seen;
  for (int i = 0; i < 6; ++i) seen.push_back(delays.next({"", std::to_string(i)}, start));
  EXPECT_EQ(seen, (std::vector<Duration>{5ms, 5ms, 5ms, 100ms, 200ms, 300ms}));
  // The bucket fills again, never beyond its burst.
  for (int i = 6; i < 9; ++i) EXPECT_EQ(delays.next({"", std::to_string(i)}, start + 1h), 5ms);
  EXPECT_EQ(delays.next({"", "last"}, start + 1h), 100ms);
}

TEST(WorkQueue, BackoffDoesNotOverflow) {
  RetryDelays delays({.longest_retry = 1000s, .per_second = 1e9, .burst = 1e9});
  Duration last{};
  for (int i = 0; i < 200; ++i) last = delays.next(kA, {});
  EXPECT_EQ(last, 1000s);
}

TEST(WorkQueue, ShutDownGivesOutWhatIsReadyThenEnds) {
  in_simulation([](sim::Simulation& simulation, std::stop_token stop) {
    WorkQueue queue(simulation);
    queue.add(kA);
    queue.add_after(kB, 1s);
    queue.shut_down();
    queue.add({"", "late"});
    EXPECT_EQ(*queue.get({stop, {}}), kA);
    const Result<ObjectKey> end = queue.get({stop, {}});
    ASSERT_FALSE(end.ok());
    EXPECT_EQ(end.error().code(), Code::kCancelled);
  });
}

TEST(WorkQueue, NoKeyIsEverWithTwoWorkersAndNoChangeIsMissed) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    sim::Simulation simulation(seed);
    WorkQueue queue(simulation);
    std::map<ObjectKey, int> with_workers, version, handled;
    std::vector<runtime::Task> tasks;
    for (int worker = 0; worker < 3; ++worker) {
      tasks.push_back(simulation.spawn("worker", [&](std::stop_token stop) {
        while (true) {
          const Result<ObjectKey> key = queue.get({stop, {}});
          if (!key.ok()) return;
          ASSERT_EQ(++with_workers[*key], 1);
          const int read = version[*key];
          simulation.yield("handling");
          handled[*key] = std::max(handled[*key], read);
          --with_workers[*key];
          queue.done(*key);
        }
      }));
    }
    tasks.push_back(simulation.spawn("writer", [&](std::stop_token) {
      for (int i = 0; i < 50; ++i) {
        const ObjectKey key{"", std::to_string(simulation.random().below(4))};
        ++version[key];
        queue.add(key);
        simulation.yield("written");
      }
    }));
    EXPECT_EQ(simulation.run(), sim::RunEnd::kIdle) << "seed " << seed;
    EXPECT_EQ(handled, version) << "seed " << seed;
    queue.shut_down();
    EXPECT_EQ(simulation.run(), sim::RunEnd::kAllDone);
  }
}

TEST(WorkQueue, WorksOnThreads) {
  runtime::ThreadRuntime threads;
  WorkQueue queue(threads);
  std::mutex mutex;
  std::set<ObjectKey> seen;
  std::vector<runtime::Task> workers;
  for (int worker = 0; worker < 3; ++worker) {
    workers.push_back(threads.spawn("worker", [&](std::stop_token stop) {
      while (true) {
        const Result<ObjectKey> key = queue.get({stop, {}});
        if (!key.ok()) return;
        {
          std::lock_guard lock(mutex);
          seen.insert(*key);
        }
        queue.done(*key);
      }
    }));
  }
  for (int i = 0; i < 100; ++i) queue.add({"", std::to_string(i)});
  queue.shut_down();
  for (runtime::Task& worker : workers) worker.join();
  EXPECT_EQ(seen.size(), 100u);
}

}  // namespace strake::kube::work_queue_test
