#include "kube/events.h"

#include <gtest/gtest.h>

#include "base/simulation.h"
#include "kube/testing/fake_api.h"
#include "kube/testing/run_for.h"

namespace strake::kube::events_test {

using namespace std::chrono_literals;
using testing::FakeClient;
using testing::FakeServer;
using testing::Link;

struct World {
  explicit World(EventRecorderOptions options = {.component = "strake-test", .instance = "host-1"})
      : simulation(1), server(simulation), client(server), recorder(simulation, client, std::move(options)) {
    node = Object(core::kNode, {"", "n1"});
    json::ensure(node.json(), {"metadata", "uid"}) = "u1";
  }
  void run_for(runtime::Duration duration) { testing::run_for(simulation, duration); }
  std::vector<Object> events() { return client.list(core::kEvent, "", {}, {})->items; }

  sim::Simulation simulation;
  FakeServer server;
  FakeClient client;
  EventRecorder recorder;
  Object node;
};

TEST(EventRecorder, SameNewsIsOneEventWithACount) {
  World world;
  world.recorder.start();
  world.recorder.record(world.node, EventType::kNormal, "Drained", "node drained");
  world.run_for(90s);
  world.recorder.record(world.node, EventType::kNormal, "Drained", "node drained");
  world.recorder.record(world.node, EventType::kWarning, "Failed", "no space");
  world.run_for(1s);
  const auto events = world.events();
  ASSERT_EQ(events.size(), 2u);
  const Object& drained = events[0].text({"reason"}) == "Drained" ? events[0] : events[1];
  EXPECT_EQ(drained.ns(), "default");
  EXPECT_TRUE(drained.name().starts_with("n1."));
  EXPECT_EQ(json::find_int(drained.json(), {"count"}), 2);
  EXPECT_EQ(drained.text({"type"}), "Normal");
  EXPECT_EQ(drained.text({"message"}), "node drained");
  EXPECT_EQ(drained.text({"firstTimestamp"}), "2026-01-01T00:00:00Z");
  EXPECT_EQ(drained.text({"lastTimestamp"}), "2026-01-01T00:01:30Z");
  EXPECT_EQ(drained.text({"involvedObject", "kind"}), "Node");
  EXPECT_EQ(drained.text({"involvedObject", "uid"}), "u1");
  EXPECT_EQ(drained.text({"source", "component"}), "strake-test");
  EXPECT_EQ(drained.text({"reportingInstance"}), "host-1");
  EXPECT_EQ(world.recorder.stats().sent, 3u);
}

TEST(EventRecorder, StartsOverWhenTheServerForgotTheEvent) {
  World world;
  world.recorder.start();
  world.recorder.record(world.node, EventType::kNormal, "R", "m");
  world.run_for(1s);
  ASSERT_TRUE(world.client.remove(core::kEvent, world.events()[0].key(), {}, {}).ok());
  world.recorder.record(world.node, EventType::kNormal, "R", "m");
  world.run_for(1s);
  ASSERT_EQ(world.events().size(), 1u);
  EXPECT_EQ(json::find_int(world.events()[0].json(), {"count"}), 1);
}

TEST(EventRecorder, RetriesAShortOutageAndDropsInALongOne) {
  World world;
  world.recorder.start();
  world.client.set_link(Link::kRefused);
  world.recorder.record(world.node, EventType::kNormal, "Short", "m");
  world.run_for(100ms);
  world.client.set_link(Link::kUp);
  world.run_for(10s);
  EXPECT_EQ(world.events().size(), 1u);
  world.client.set_link(Link::kRefused);
  world.recorder.record(world.node, EventType::kNormal, "Long", "m");
  bool flushed = false;
  auto flusher = world.simulation.spawn("flush", [&](std::stop_token stop) {
    flushed = world.recorder.flush(world.simulation.call_within(1h, stop)).ok();
  });
  world.run_for(10min);
  EXPECT_TRUE(flushed);
  EXPECT_EQ(world.recorder.stats().sent, 1u);
  EXPECT_EQ(world.recorder.stats().dropped, 1u);
}

TEST(EventRecorder, HoldsANoisyObjectToItsBudgetAndTheQueueToItsLimit) {
  World world({.component = "c", .queue_limit = 40, .burst_per_object = 5});
  for (int i = 0; i < 50; ++i) world.recorder.record(world.node, EventType::kNormal, "Noise", std::to_string(i));
  EXPECT_EQ(world.recorder.stats().dropped, 10u);
  world.recorder.start();
  world.run_for(1s);
  EXPECT_EQ(world.events().size(), 5u);
  EXPECT_EQ(world.recorder.stats().dropped, 45u);
  world.run_for(6min);
  world.recorder.record(world.node, EventType::kNormal, "Later", "m");
  world.run_for(1s);
  EXPECT_EQ(world.events().size(), 6u);
}

TEST(EventRecorder, RemembersOnlySoMany) {
  World world({.component = "c", .remembered_events = 2});
  world.recorder.start();
  for (const char* message : {"a", "b", "a", "c", "b"}) {
    world.recorder.record(world.node, EventType::kNormal, "R", message);
    world.run_for(1s);
  }
  // "b" was the least recently used when "c" came, so its repetition is a new event.
  EXPECT_EQ(world.events().size(), 4u);
}

TEST(EventRecorder, ClipsLongMessages) {
  World world;
  world.recorder.start();
  world.recorder.record(world.node, EventType::kNormal, "R", std::string(5000, 'x'));
  world.run_for(1s);
  EXPECT_EQ(world.events()[0].text({"message"}).size(), 1024u);
}

}  // namespace strake::kube::events_test
