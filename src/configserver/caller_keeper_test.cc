// What servers tell each other through the cluster, in simulation: callers, and uses of counted tokens.
#include "configserver/caller_keeper.h"

#include <gtest/gtest.h>

#include "base/simulation.h"
#include "kube/testing/fake_api.h"
#include "kube/testing/run_for.h"

namespace strake::configserver::caller_keeper_test {

using namespace std::chrono_literals;

struct Server {
  Server(sim::Simulation& simulation, kube::testing::FakeServer& cluster, const std::string& name)
      : client(cluster), gate(simulation), keeper(simulation, client, gate, options(name)) {
    const auto now = std::chrono::floor<std::chrono::seconds>(simulation.wall_now());
    stub::TokenRecord counted{"counted", "worker", stub::token_sha256("a"), now, now + 100h};
    counted.max_uses = 3;
    gate.set_book(std::make_shared<const stub::AccessBook>(stub::AccessMode::kRequire, std::vector{counted}, ""));
    keeper.start();
  }
  CallerKeeperOptions options(const std::string& name) {
    CallerKeeperOptions options;
    options.server = name;
    options.on_problem = [this](const std::string& problem) { problems.push_back(problem); };
    return options;
  }
  /// As the config server does with a request.
  std::string ask(const std::string& peer, const std::string& token, const std::string& pool = "worker") {
    net::ServerRequest request;
    request.method = "GET";
    request.peer_address = peer;
    if (!token.empty()) request.headers.add("Authorization", "Bearer " + token);
    const Pass pass = gate.check(request, pool);
    ConfigRequest record;
    record.caller = peer;
    record.pool = pool;
    record.known_pool = pool == "worker";
    record.outcome = pass.refusal.value_or(Outcome::kServed);
    record.standing = pass.standing;
    record.credential = pass.credential;
    keeper.record(record);
    return std::string(to_string(record.outcome));
  }

  std::vector<std::string> problems;
  kube::testing::FakeClient client;
  Gate gate;
  CallerKeeper keeper;
};

struct World {
  World() {
    EXPECT_TRUE(
        direct.create(kube::core::kConfigMap, kube::Object(kube::core::kConfigMap, stub::callers_key()), {}, {}).ok());
  }
  void run_for(runtime::Duration duration) { kube::testing::run_for(simulation, duration); }
  kube::Object map() { return *direct.get(kube::core::kConfigMap, stub::callers_key(), {}); }
  stub::CallerPages pages() { return stub::read_pages(map()); }

  sim::Simulation simulation{1};
  kube::testing::FakeServer cluster{simulation};
  kube::testing::FakeClient direct{cluster};
};

TEST(CallerKeeper, TellsWhoAskedOnceInAWhile) {
  World world;
  Server server(world.simulation, world.cluster, "one");
  const std::string before = world.map().resource_version();
  world.run_for(60s);
  EXPECT_EQ(world.map().resource_version(), before) << "nothing happened, nothing is written";
  for (int i = 0; i < 500; ++i) {
    (void)server.ask(fmt::format("192.0.2.7:{}", 1000 + i), "");
    (void)server.ask("192.0.2.7:1", "", fmt::format("guess\x1b{}", i));
    (void)server.ask(fmt::format("[2001:db8::{:x}]:1", i), "");
    (void)server.ask("192.0.2.8:1", "a");
  }
  world.run_for(11s);
  const std::string once = world.map().resource_version();
  const auto callers = stub::newest_callers(world.pages());
  ASSERT_EQ(callers.size(), 4U) << "what a stranger can vary at will makes no new entry";
  std::uint64_t times = 0;
  for (const stub::Caller& caller : callers) times += caller.times;
  EXPECT_LE(times, 2000U);
  EXPECT_EQ(callers[0].address, "192.0.2.8");
  EXPECT_EQ(callers[0].credential, "counted");
  EXPECT_EQ(callers[0].standing, "good");
  world.run_for(60s);
  EXPECT_EQ(world.map().resource_version(), once);
  server.keeper.stop();
}

TEST(CallerKeeper, CountedTokensAreCountedOverAllServersAndRestarts) {
  World world;
  auto one = std::make_unique<Server>(world.simulation, world.cluster, "one");
  Server two(world.simulation, world.cluster, "two");
  EXPECT_EQ(one->ask("192.0.2.1:1", "a"), "served");
  EXPECT_EQ(two.ask("192.0.2.2:1", "a"), "served");
  world.run_for(25s);
  one->keeper.stop();
  one = std::make_unique<Server>(world.simulation, world.cluster, "one");
  world.run_for(25s);
  EXPECT_EQ(one->ask("192.0.2.3:1", "a"), "served") << "two of three are used";
  world.run_for(25s);
  EXPECT_EQ(one->ask("192.0.2.4:1", "a"), "token-used-up");
  EXPECT_EQ(two.ask("192.0.2.5:1", "a"), "token-used-up");
  EXPECT_EQ(stub::uses_of(world.pages()).at("counted"), 3U);
  EXPECT_EQ(stub::newest_callers(world.pages()).size(), 3U) << "what it told before a restart stays";
  one->keeper.stop();
  two.keeper.stop();
}

TEST(CallerKeeper, WhatCannotBeWrittenNowIsWrittenLater) {
  World world;
  Server server(world.simulation, world.cluster, "one");
  server.client.set_link(kube::testing::Link::kRefused);
  (void)server.ask("192.0.2.1:1", "");
  world.run_for(60s);
  ASSERT_EQ(server.problems.size(), 1U) << "said once";
  server.client.set_link(kube::testing::Link::kUp);
  world.run_for(30s);
  EXPECT_EQ(stub::newest_callers(world.pages()).size(), 1U);
  EXPECT_EQ(server.problems.back(), "");
  ASSERT_TRUE(world.direct.remove(kube::core::kConfigMap, stub::callers_key(), {}, {}).ok());
  EXPECT_EQ(server.ask("192.0.2.1:1", "a"), "served") << "nobody waits for it";
  world.run_for(30s);
  EXPECT_EQ(server.problems.size(), 3U);
  server.keeper.stop();
}

TEST(CallerLog, TheNewestThousandStay) {
  CallerLog log;
  ConfigRequest request;
  request.pool = std::string(5000, 'x');
  for (int i = 0; i < 5000; ++i) {
    request.caller = fmt::format("10.{}.{}.1:5", i / 250, i % 250);
    log.record(request, std::chrono::sys_seconds(std::chrono::seconds(i)));
  }
  const auto callers = log.newest();
  ASSERT_EQ(callers.size(), stub::kMaxCallers);
  EXPECT_EQ(callers.front().address, "10.19.249.1");
  EXPECT_LE(callers.front().pool.size(), stub::kMaxCallerText);
}

}  // namespace strake::configserver::caller_keeper_test
