#include "kube/leader_election.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/simulation.h"
#include "base/time.h"
#include "kube/testing/fake_api.h"
#include "kube/testing/run_for.h"

namespace strake::kube::leader_election_test {

using namespace std::chrono_literals;
using testing::FakeClient;
using testing::FakeServer;
using testing::Link;

const ObjectKey kLease{"strake", "controller"};

/// Counts how many candidates do a leader's work at the same time.
struct Throne {
  int sitting = 0;
  int most = 0;
  std::vector<std::string> reigns;
};

struct Candidate {
  Candidate(sim::Simulation& simulation, FakeServer& server, Throne& throne, std::string name, bool release = true)
      : client(server) {
    LeaderElectionOptions options;
    options.lease = kLease;
    options.identity = name;
    options.release_on_stop = release;
    LeaderCallbacks callbacks;
    callbacks.on_started = [&, name](std::stop_token stop) {
      throne.most = std::max(throne.most, ++throne.sitting);
      throne.reigns.push_back(name);
      (void)simulation.sleep(24h, stop);
      --throne.sitting;
    };
    callbacks.on_stopped = [this] { ++stopped; };
    callbacks.on_new_leader = [this](const std::string& leader) { leaders.push_back(leader); };
    elector = std::make_unique<LeaderElector>(simulation, client, options, callbacks);
    task = simulation.spawn(name, [this](std::stop_token stop) { EXPECT_TRUE(elector->run(stop).ok()); });
  }

  FakeClient client;
  int stopped = 0;
  std::vector<std::string> leaders;
  std::unique_ptr<LeaderElector> elector;
  runtime::Task task;
};

struct World {
  explicit World(std::uint64_t seed) : simulation(seed), server(simulation), direct(server) {}
  void run_for(runtime::Duration duration) {
    testing::run_for(simulation, duration, [this] {
      int leaders = 0;
      for (const auto& candidate : candidates) leaders += candidate->elector->is_leader() ? 1 : 0;
      most_leaders = std::max(most_leaders, leaders);
    });
  }
  Candidate& add(std::string name, bool release = true) {
    candidates.push_back(std::make_unique<Candidate>(simulation, server, throne, std::move(name), release));
    return *candidates.back();
  }
  Candidate* leader() {
    for (auto& candidate : candidates) {
      if (candidate->elector->is_leader()) return candidate.get();
    }
    return nullptr;
  }
  Object lease() { return *direct.get(core::kLease, kLease, {}); }

  sim::Simulation simulation;
  FakeServer server;
  FakeClient direct;
  Throne throne;
  int most_leaders = 0;
  std::vector<std::unique_ptr<Candidate>> candidates;
};

TEST(LeaderElection, OneLeadsAndRenewsTheLease) {
  World world(1);
  world.add("a");
  world.add("b");
  world.run_for(60s);
  ASSERT_NE(world.leader(), nullptr);
  EXPECT_EQ(world.throne.reigns.size(), 1u);
  const Object lease = world.lease();
  EXPECT_EQ(lease.text({"spec", "holderIdentity"}), world.throne.reigns[0]);
  EXPECT_EQ(json::find_int(lease.json(), {"spec", "leaseDurationSeconds"}), 15);
  EXPECT_EQ(json::find_int(lease.json(), {"spec", "leaseTransitions"}), 0);
  EXPECT_EQ(lease.text({"spec", "acquireTime"}), "2026-01-01T00:00:00.000000Z");
  const auto renewed = parse_rfc3339(lease.text({"spec", "renewTime"}));
  ASSERT_TRUE(renewed.ok());
  EXPECT_LE(world.simulation.wall_now() - *renewed, 3s);
  for (const auto& candidate : world.candidates) {
    EXPECT_EQ(candidate->leaders, (std::vector<std::string>{world.throne.reigns[0]}));
    EXPECT_EQ(candidate->elector->leader(), world.throne.reigns[0]);
  }
}

TEST(LeaderElection, AReleasedLeaseIsTakenSoon) {
  World world(1);
  Candidate& first = world.add("a");
  world.run_for(10s);
  world.add("b");
  world.run_for(10s);
  first.task.stop_and_join();
  EXPECT_EQ(first.stopped, 1);
  EXPECT_EQ(world.lease().text({"spec", "holderIdentity"}), "");
  world.run_for(6s);
  EXPECT_EQ(world.throne.reigns, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(json::find_int(world.lease().json(), {"spec", "leaseTransitions"}), 1);
}

TEST(LeaderElection, AfterACrashTheLeaseRunsOutFirst) {
  World world(1);
  Candidate& first = world.add("a", false);
  world.run_for(10s);
  world.add("b");
  world.run_for(10s);
  first.task.stop_and_join();
  world.run_for(11s);
  EXPECT_EQ(world.throne.reigns.size(), 1u);
  world.run_for(10s);
  EXPECT_EQ(world.throne.reigns, (std::vector<std::string>{"a", "b"}));
}

TEST(LeaderElection, ALeaderCutOffStopsBeforeAnotherStarts) {
  for (const Link link : {Link::kRefused, Link::kSilent, Link::kAnswersLost}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      World world(seed);
      world.add("a");
      world.add("b");
      world.run_for(20s);
      Candidate* leader = world.leader();
      ASSERT_NE(leader, nullptr);
      leader->client.set_link(link);
      world.run_for(13s);
      EXPECT_EQ(leader->stopped, 1) << "seed " << seed;
      EXPECT_FALSE(leader->elector->is_leader());
      EXPECT_TRUE(leader->elector->last_error().has_value());
      world.run_for(60s);
      // With only the answers lost, renewals still arrive and keep the others away: no leader, but never two.
      if (link != Link::kAnswersLost) {
        EXPECT_EQ(world.throne.reigns.size(), 2u) << "seed " << seed;
      }
      leader->client.set_link(Link::kUp);
      world.run_for(60s);
      EXPECT_NE(world.leader(), nullptr);
      EXPECT_EQ(world.throne.most, 1) << "seed " << seed;
      EXPECT_EQ(world.most_leaders, 1) << "seed " << seed;
    }
  }
}

TEST(LeaderElection, NeverTwoLeadersWhateverHappens) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    World world(seed);
    for (const char* name : {"a", "b", "c"}) world.add(name);
    Random& random = world.simulation.random();
    for (int step = 0; step < 40; ++step) {
      Candidate& candidate = *world.candidates[random.below(3)];
      constexpr Link kLinks[] = {Link::kUp, Link::kUp, Link::kRefused, Link::kSilent, Link::kAnswersLost};
      candidate.client.set_link(kLinks[random.below(5)]);
      candidate.client.set_faults({.fail_call = random.below(3) == 0 ? 0.4 : 0.0});
      world.run_for(std::chrono::milliseconds(random.below(12'000)));
    }
    EXPECT_LE(world.throne.most, 1) << "seed " << seed;
    EXPECT_LE(world.most_leaders, 1) << "seed " << seed;
    for (const auto& candidate : world.candidates) {
      candidate->client.set_link(Link::kUp);
      candidate->client.set_faults({});
    }
    world.run_for(40s);
    EXPECT_NE(world.leader(), nullptr) << "seed " << seed;
    EXPECT_EQ(world.throne.sitting, 1) << "seed " << seed;
  }
}

TEST(LeaderElection, WorkThatEndsByItselfGivesTheLeaseUp) {
  sim::Simulation simulation(1);
  FakeServer server(simulation);
  FakeClient client(server);
  bool stopped = false;
  LeaderElector elector(simulation, client, {.lease = kLease, .identity = "a"},
                        {.on_started = [](std::stop_token) {}, .on_stopped = [&] { stopped = true; }});
  auto task = simulation.spawn("a", [&](std::stop_token stop) { EXPECT_TRUE(elector.run(stop).ok()); });
  EXPECT_EQ(simulation.run(), sim::RunEnd::kAllDone);
  EXPECT_TRUE(stopped);
  EXPECT_EQ(client.get(core::kLease, kLease, {})->text({"spec", "holderIdentity"}), "");
}

TEST(LeaderElection, SaysWhenTheWorkDoesNotStopInTime) {
  sim::Simulation simulation(1);
  FakeServer server(simulation);
  FakeClient client(server);
  std::optional<runtime::TimePoint> overdue;
  LeaderElector elector(simulation, client, {.lease = kLease, .identity = "a"},
                        {.on_started = [&](std::stop_token) { (void)simulation.sleep(1h, {}); },
                         .on_overdue = [&] { overdue = simulation.now(); }});
  auto task = simulation.spawn("a", [&](std::stop_token stop) { (void)elector.run(stop); });
  testing::run_for(simulation, 5s);
  client.set_link(Link::kRefused);
  testing::run_for(simulation, 30s);
  ASSERT_TRUE(overdue.has_value());
  EXPECT_LE(overdue->time_since_epoch(), 5s + 15s);
}

TEST(LeaderElection, KeepsFieldsOfOthersInTheLease) {
  World world(1);
  Object lease(core::kLease, kLease);
  json::ensure(lease.json(), {"spec", "strategy"}) = "OldestEmulationVersion";
  lease.set_annotation("note", "kept");
  ASSERT_TRUE(world.direct.create(core::kLease, lease, {}, {}).ok());
  world.add("a");
  world.run_for(5s);
  EXPECT_EQ(world.lease().text({"spec", "holderIdentity"}), "a");
  EXPECT_EQ(world.lease().text({"spec", "strategy"}), "OldestEmulationVersion");
  EXPECT_EQ(world.lease().annotation("note"), "kept");
}

TEST(LeaderElection, RefusesDurationsThatCannotWork) {
  const LeaderElectionOptions good{.lease = kLease, .identity = "a"};
  EXPECT_TRUE(LeaderElector::validate(good).ok());
  LeaderElectionOptions bad = good;
  bad.identity.clear();
  EXPECT_FALSE(LeaderElector::validate(bad).ok());
  bad = good;
  bad.lease_duration = 10s;
  EXPECT_FALSE(LeaderElector::validate(bad).ok());
  bad = good;
  bad.retry_period = 9s;
  EXPECT_FALSE(LeaderElector::validate(bad).ok());
  bad = good;
  bad.retry_period = 0s;
  EXPECT_FALSE(LeaderElector::validate(bad).ok());
  bad = good;
  bad.lease.ns.clear();
  EXPECT_FALSE(LeaderElector::validate(bad).ok());
}

}  // namespace strake::kube::leader_election_test
