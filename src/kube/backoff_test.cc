// Nothing in this module hammers a server: not with what its own writes cause, and not with a server that refuses all.
#include <gtest/gtest.h>

#include "base/simulation.h"
#include "kube/controller.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/leader_election.h"
#include "kube/testing/fake_api.h"
#include "kube/testing/run_for.h"

namespace strake::kube::backoff_test {

using namespace std::chrono_literals;
using testing::FakeClient;
using testing::FakeServer;
using testing::run_for;

const ObjectKey kNodeKey{"", "n"};

/// A controller that writes a status at every attempt, different each time, and fails until spec.good is set.
struct FailingWorld {
  explicit FailingWorld(std::uint64_t seed)
      : simulation(seed),
        server(simulation),
        direct(server),
        client(server),
        informer(simulation, client, core::kNode) {
    Object node(core::kNode, kNodeKey);
    json::ensure(node.json(), {"spec", "good"}) = false;
    EXPECT_TRUE(direct.create(core::kNode, node, {}, {}).ok());
    controller = std::make_unique<Controller>(
        simulation, ControllerOptions{.name = "fails"},
        [this](const ObjectKey& key, const Call& call) -> Result<Reconciled> {
          const ObjectPtr node_now = informer.get(key);
          const bool good = json::find_bool(node_now->json(), {"spec", "good"}).value_or(false);
          if (good && healed_at == runtime::TimePoint{}) healed_at = simulation.now();
          if (good) return Reconciled{};
          const json::Value status = json::Object{{"status", json::Object{{"attempt", ++attempts}}}};
          STRAKE_TRY(const Object written, client.patch(core::kNode, key, PatchType::kMerge, status, {}, call));
          return error(Code::kIo, "attempt {} failed", attempts);
        });
    controller->watch(informer);
    informer.start();
    controller->start();
  }
  ~FailingWorld() {
    controller->stop();
    informer.stop();
  }

  sim::Simulation simulation;
  FakeServer server;
  FakeClient direct;
  FakeClient client;
  Informer informer;
  int attempts = 0;
  runtime::TimePoint healed_at{};
  std::unique_ptr<Controller> controller;
};

TEST(Backoff, AControllerThatFailsAndWritesItsStatusEachTimeWritesAHandfulAMinute) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    FailingWorld world(seed);
    run_for(world.simulation, 1min);
    EXPECT_GE(world.client.counts().patch, 3) << "it does try again";
    EXPECT_LE(world.client.counts().patch, 10) << "seed " << seed;
    const int first_minute = world.client.counts().patch;
    run_for(world.simulation, 10min);
    EXPECT_GE(world.client.counts().patch - first_minute, 2);
    EXPECT_LE(world.client.counts().patch - first_minute, 5);
  }
}

TEST(Backoff, WhatAUserChangesReachesAFailingObjectAtOnce) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    FailingWorld world(seed);
    run_for(world.simulation, 30min);
    EXPECT_TRUE(world.controller->error_of(kNodeKey).has_value());
    const auto changed_at = world.simulation.now();
    const json::Value good = json::Object{{"spec", json::Object{{"good", true}}}};
    ASSERT_TRUE(world.direct.patch(core::kNode, kNodeKey, PatchType::kMerge, good, {}, {}).ok());
    run_for(world.simulation, 1min);
    EXPECT_LE(world.healed_at - changed_at, 1s) << "seed " << seed;
    EXPECT_FALSE(world.controller->error_of(kNodeKey).has_value());
  }
}

TEST(Backoff, OnlyWhatSomebodyWantsIsNews) {
  const auto object = [](std::string_view text) { return Object(*json::parse(text)); };
  struct Case {
    std::string_view name, before, now;
    bool news;
  };
  const Case cases[] = {
      {"status", R"({"metadata":{"resourceVersion":"1"},"spec":{"a":1},"status":{"x":1}})",
       R"({"metadata":{"resourceVersion":"2"},"spec":{"a":1},"status":{"x":2}})", false},
      {"annotation", R"({"metadata":{},"spec":{"a":1}})", R"({"metadata":{"annotations":{"a":"b"}},"spec":{"a":1}})",
       false},
      {"spec", R"({"metadata":{},"spec":{"a":1}})", R"({"metadata":{},"spec":{"a":2}})", true},
      {"data", R"({"metadata":{},"data":{"a":"1"}})", R"({"metadata":{},"data":{"a":"2"}})", true},
      {"label", R"({"metadata":{}})", R"({"metadata":{"labels":{"a":"b"}}})", true},
      {"deletion", R"({"metadata":{}})", R"({"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}})", true},
      {"generation", R"({"metadata":{"generation":1}})", R"({"metadata":{"generation":2}})", true},
      {"same generation", R"({"metadata":{"generation":1},"status":{}})",
       R"({"metadata":{"generation":1},"status":{"a":1}})", false},
  };
  for (const Case& one : cases) EXPECT_EQ(spec_changed(object(one.before), object(one.now)), one.news) << one.name;
}

/// Every way in which a server says no at once.
std::vector<Error> refusals() {
  return {Error(Code::kUnavailable, "connection refused"),
          Error(Code::kUnauthenticated, "401"),
          Error(Code::kDenied, "403"),
          Error(Code::kInternal, "500"),
          Error(Code::kExpired, "410"),
          Error(Code::kConflict, "409"),
          Error(Code::kExhausted, "429").with_retry_after(1ms)};
}

TEST(Backoff, AnInformerAsksARefusingServerAFewTimesAMinute) {
  for (const Error& refusal : refusals()) {
    sim::Simulation simulation(1);
    FakeServer server(simulation);
    FakeClient client(server);
    client.refuse_with(refusal);
    int told = 0;
    unsigned last_failures = 0;
    InformerOptions options;
    options.hooks.on_informer_failure = [&](const InformerFailure& failure) {
      EXPECT_EQ(failure.resource.plural, "nodes");
      EXPECT_EQ(failure.error.code(), refusal.code());
      EXPECT_GT(failure.failures, last_failures);
      last_failures = failure.failures;
      ++told;
    };
    int contacts = 0;
    options.hooks.on_informer_contact = [&](const Resource&) { ++contacts; };
    Informer informer(simulation, client, core::kNode, options);
    informer.start();
    run_for(simulation, 1s);
    EXPECT_GE(told, 1) << "the first failure is told: " << refusal.message();
    run_for(simulation, 59s);
    EXPECT_LE(client.counts().attempts, 15) << refusal.message();
    const int first_minute = client.counts().attempts;
    run_for(simulation, 10min);
    EXPECT_LE(client.counts().attempts - first_minute, 50) << refusal.message();
    EXPECT_EQ(contacts, 0);
    client.set_link(testing::Link::kUp);
    run_for(simulation, 31s);
    EXPECT_TRUE(informer.synced());
    EXPECT_GE(contacts, 1);
  }
}

TEST(Backoff, AServerThatOnlyRepeatsItselfAndHangsUpIsAskedWithPauses) {
  sim::Simulation simulation(1);
  FakeServer server(simulation);
  FakeClient client(server);
  Informer informer(simulation, client, core::kNode);
  informer.start();
  auto rude = simulation.spawn("rude", [&](std::stop_token stop) {
    while (simulation.sleep(1ms, stop).ok()) {
      server.send_bookmarks();
      if (!simulation.sleep(1ms, stop).ok()) return;
      server.end_streams();
    }
  });
  run_for(simulation, 1min);
  EXPECT_LE(client.counts().watch, 15);
}

TEST(Backoff, ACandidateAsksARefusingServerAtItsRetryPeriodAndSaysSo) {
  for (const Error& refusal : refusals()) {
    sim::Simulation simulation(1);
    FakeServer server(simulation);
    FakeClient client(server);
    client.refuse_with(refusal);
    LeaderElectionOptions options;
    options.lease = {"strake", "controller"};
    options.identity = "me";
    LeaderCallbacks callbacks;
    unsigned told = 0;
    callbacks.on_failure = [&](const LeaseFailure& failure) {
      EXPECT_EQ(failure.lease, options.lease);
      EXPECT_EQ(failure.failures, ++told);
      EXPECT_FALSE(failure.leading);
      EXPECT_EQ(failure.error.code(), refusal.code());
    };
    int recovered = 0;
    callbacks.on_recovered = [&] { ++recovered; };
    callbacks.on_started = [&](std::stop_token stop) { (void)simulation.sleep(24h, stop); };
    LeaderElector elector(simulation, client, options, callbacks);
    auto task = simulation.spawn("candidate", [&](std::stop_token stop) { EXPECT_TRUE(elector.run(stop).ok()); });
    run_for(simulation, 1min);
    EXPECT_GE(told, 10u);
    EXPECT_LE(client.counts().attempts, 31) << refusal.message();
    EXPECT_EQ(recovered, 0);
    client.set_link(testing::Link::kUp);
    run_for(simulation, 1min);
    EXPECT_EQ(recovered, 1);
    EXPECT_TRUE(elector.is_leader());
    task.request_stop();
    run_for(simulation, 1s);
  }
}

TEST(Backoff, ARecorderWithAThousandEventsDoesNotStormARefusingServer) {
  for (const Error& refusal : refusals()) {
    sim::Simulation simulation(1);
    FakeServer server(simulation);
    FakeClient client(server);
    client.refuse_with(refusal);
    std::map<EventLoss, int> lost;
    EventRecorderOptions options;
    options.component = "c";
    options.hooks.on_event_lost = [&](const LostEvent& event) {
      EXPECT_EQ(event.reason, "R");
      EXPECT_EQ(event.error != nullptr, event.loss == EventLoss::kRefused);
      ++lost[event.loss];
    };
    EventRecorder recorder(simulation, client, options);
    recorder.start();
    for (int i = 0; i < 1010; ++i)
      recorder.record(Object(core::kNode, {"", fmt::format("n{}", i)}), EventType::kWarning, "R", "m");
    EXPECT_EQ(lost[EventLoss::kQueueFull], 10);
    run_for(simulation, 1min);
    EXPECT_GE(lost[EventLoss::kRefused], 3) << refusal.message();
    EXPECT_LE(client.counts().attempts, 30) << refusal.message();
    client.set_link(testing::Link::kUp);
    run_for(simulation, 2min);
    EXPECT_EQ(recorder.stats().sent + recorder.stats().dropped, 1010u) << "what waited is sent once the server is back";
  }
}

}  // namespace strake::kube::backoff_test
