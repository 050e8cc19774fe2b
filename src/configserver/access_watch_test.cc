// Who may ask, followed through a cluster's Secret in simulation: changes count, broken ones do not open anything.
#include "configserver/access_watch.h"

#include <gtest/gtest.h>

#include "codec/base64.h"
#include "configserver/testing/simulated_cluster.h"

namespace strake::configserver::access_watch_test {

using namespace std::chrono_literals;
using stub::AccessMode;

struct World : testing::SimulatedCluster {
  explicit World(std::uint64_t seed = 1) : SimulatedCluster(seed) {}

  AccessWatchOptions options() {
    AccessWatchOptions options;
    options.on_access = [this](const AccessReport& report) { told.push_back(report); };
    options.on_client_ca = [](const std::string&) { return Status(); };
    return options;
  }
  void put(const json::Value& data) {
    kube::Object secret(kube::core::kSecret, stub::access_key());
    secret.json().as_object()["data"] = data;
    SimulatedCluster::put(kube::core::kSecret, secret);
  }
  void put(AccessMode mode, const std::string& token = "") {
    const auto now = std::chrono::floor<std::chrono::seconds>(simulation.wall_now());
    std::vector<stub::TokenRecord> tokens;
    if (!token.empty()) tokens.push_back({"id", "worker", stub::token_sha256(token), now, now + 100h});
    put(*stub::access_data(stub::AccessBook(mode, tokens, "")));
  }
  void put_garbage() { put(json::Object{{"mode", codec::encode_base64("whatever")}}); }
  void remove() { SimulatedCluster::remove(kube::core::kSecret, stub::access_key()); }
  std::string ask(const std::string& token = "") {
    net::ServerRequest request;
    request.method = "GET";
    request.peer_address = "192.0.2.7:1";
    if (!token.empty()) request.headers.add("Authorization", "Bearer " + token);
    const Pass pass = gate.check(request, "worker");
    return pass.refusal ? std::string(to_string(*pass.refusal)) : "passes";
  }

  std::vector<AccessReport> told;
  Gate gate{simulation};
  AccessWatch watch{simulation, client, gate, options()};
};

TEST(AccessWatch, WithoutASecretItIsOpenAndFollowsOneThatComes) {
  World world;
  EXPECT_EQ(world.ask(), "access-unknown");
  world.watch.start();
  world.run_for(1s);
  EXPECT_EQ(world.ask(), "passes");
  world.put(AccessMode::kRequire, "a");
  world.run_for(1s);
  EXPECT_EQ(world.ask(), "no-token");
  EXPECT_EQ(world.ask("a"), "passes");
  world.put(AccessMode::kRequire);
  world.run_for(1s);
  EXPECT_EQ(world.ask("a"), "bad-token");
  world.put(AccessMode::kOpen);
  world.run_for(1s);
  EXPECT_EQ(world.ask(), "passes");
  ASSERT_EQ(world.told.size(), 4U);
  EXPECT_EQ(world.told[1], (AccessReport{AccessMode::kRequire, 1, ""}));
  world.watch.stop();
}

TEST(AccessWatch, WhatCannotBeReadOpensNothing) {
  World world;
  world.put_garbage();
  world.watch.start();
  world.run_for(1s);
  EXPECT_EQ(world.ask(), "access-unknown") << "somebody meant something";
  world.put(AccessMode::kRequire, "a");
  world.run_for(1s);
  world.put_garbage();
  world.run_for(1s);
  EXPECT_EQ(world.ask(), "no-token");
  EXPECT_EQ(world.ask("a"), "passes") << "what it said last counts";
  ASSERT_EQ(world.told.size(), 3U);
  EXPECT_NE(world.told[2].problem.find("data.mode"), std::string::npos);
  world.remove();
  world.run_for(1s);
  EXPECT_EQ(world.ask(), "no-token") << "a Secret that is lost does not open the door";
  world.put(AccessMode::kOpen);
  world.run_for(1s);
  EXPECT_EQ(world.ask(), "passes");
  world.put_garbage();
  world.run_for(1s);
  EXPECT_EQ(world.ask(), "passes") << "it was open before";
  world.remove();
  world.run_for(1s);
  EXPECT_EQ(world.ask(), "passes");
  const auto events = world.direct.list(kube::core::kEvent, "", {}, {});
  ASSERT_TRUE(events.ok());
  ASSERT_FALSE(events->items.empty());
  EXPECT_EQ(events->items[0].text({"reason"}), "AccessNotReadable");
  world.watch.stop();
}

TEST(AccessWatch, WhileTheApiIsAwayTheLastWordCounts) {
  World world;
  world.client.set_link(kube::testing::Link::kRefused);
  world.put(AccessMode::kRequire, "a");
  world.watch.start();
  world.run_for(60s);
  EXPECT_EQ(world.ask("a"), "access-unknown") << "nobody knows yet";
  world.client.set_link(kube::testing::Link::kUp);
  world.run_for(60s);
  EXPECT_EQ(world.ask("a"), "passes");
  world.client.set_link(kube::testing::Link::kRefused);
  world.server.end_streams();
  world.put(AccessMode::kOpen);
  world.run_for(60s);
  EXPECT_EQ(world.ask(), "no-token");
  EXPECT_EQ(world.ask("a"), "passes");
  world.client.set_link(kube::testing::Link::kUp);
  world.run_for(60s);
  EXPECT_EQ(world.ask(), "passes");
  world.watch.stop();
}

TEST(AccessWatch, LostAndRepeatedEventsEndInTheSameBook) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World world(seed);
    world.client.set_faults({.fail_call = 0.2, .drop_event = 0, .duplicate_event = 0.2, .end_stream = 0.3});
    world.watch.start();
    for (int i = 0; i < 10; ++i) {
      world.put(AccessMode::kRequire, fmt::format("token{}", i));
      world.run_for(300ms);
      EXPECT_NE(world.ask("never"), "passes") << "seed " << seed;
      if (i == 5) world.server.expire_history();
    }
    world.client.set_faults({});
    world.run_for(120s);
    EXPECT_EQ(world.ask("token9"), "passes") << "seed " << seed;
    EXPECT_EQ(world.ask("token8"), "bad-token") << "seed " << seed;
    world.watch.stop();
  }
}

}  // namespace strake::configserver::access_watch_test
