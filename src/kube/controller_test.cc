#include "kube/controller.h"

#include <gtest/gtest.h>

#include "base/simulation.h"
#include "kube/patch.h"
#include "kube/testing/fake_api.h"
#include "kube/testing/run_for.h"

namespace strake::kube::controller_test {

using namespace std::chrono_literals;
using testing::FakeClient;
using testing::FakeServer;
using testing::run_for;

const ObjectKey kKey{"", "a"};

TEST(Controller, RetriesFailuresWithBackoffAndKeepsTheLastError) {
  sim::Simulation simulation(1);
  std::vector<runtime::Duration> at;
  std::vector<std::uint32_t> failures;
  ControllerOptions options;
  options.name = "test";
  options.hooks.on_reconciled = [&](const ReconcileRecord& record) {
    EXPECT_EQ(record.controller, "test");
    EXPECT_EQ(record.key, kKey);
    EXPECT_EQ(record.error == nullptr, record.failures == 0);
    failures.push_back(record.failures);
  };
  bool broken = true;
  Controller controller(simulation, options, [&](const ObjectKey&, const Call&) -> Result<Reconciled> {
    at.push_back(simulation.now().time_since_epoch());
    if (broken) return error(Code::kIo, "disk {} failed", at.size());
    return Reconciled{};
  });
  controller.start();
  controller.enqueue(kKey);
  run_for(simulation, 30ms);
  EXPECT_EQ(at, (std::vector<runtime::Duration>{0ms, 5ms, 25ms}));
  ASSERT_TRUE(controller.error_of(kKey).has_value());
  EXPECT_EQ(controller.error_of(kKey)->message(), "disk 3 failed");
  broken = false;
  run_for(simulation, 1h);
  EXPECT_EQ(at.size(), 4u);
  EXPECT_TRUE(controller.errors().empty());
  EXPECT_EQ(failures, (std::vector<std::uint32_t>{1, 2, 3, 0}));
}

TEST(Controller, HonoursRequeueAndRetryAfter) {
  sim::Simulation simulation(1);
  std::vector<runtime::Duration> at;
  Controller controller(simulation, {.name = "test", .workers = 2},
                        [&](const ObjectKey&, const Call&) -> Result<Reconciled> {
                          at.push_back(simulation.now().time_since_epoch());
                          if (at.size() == 1) return Reconciled{1min};
                          if (at.size() == 2) return error(Code::kExhausted, "slow down").with_retry_after(30s);
                          return Reconciled{};
                        });
  controller.start();
  controller.enqueue(kKey);
  run_for(simulation, 1h);
  EXPECT_EQ(at, (std::vector<runtime::Duration>{0s, 60s, 90s}));
}

TEST(Controller, AReconcileSeesItsDeadlineAndTheStop) {
  sim::Simulation simulation(1);
  std::vector<Code> ended;
  Controller controller(simulation, {.name = "test", .reconcile_timeout = 10s},
                        [&](const ObjectKey&, const Call& call) -> Result<Reconciled> {
                          runtime::Queue<int> never(simulation);
                          const Result<int> item = never.pop(call);
                          ended.push_back(item.error().code());
                          return item.error();
                        });
  controller.start();
  controller.enqueue(kKey);
  run_for(simulation, 11s);
  EXPECT_EQ(ended, (std::vector<Code>{Code::kTimeout}));
  controller.stop();
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_EQ(ended[1], Code::kCancelled);
  EXPECT_EQ(controller.error_of(kKey)->code(), Code::kTimeout);
}

/// Copies spec.wanted of each node into its annotations, as a controller would: through informer, queue and patches.
struct CopyWorld {
  explicit CopyWorld(std::uint64_t seed) : simulation(seed), server(simulation), direct(server), client(server) {
    InformerOptions informer_options;
    informer_options.resync = 60s;
    informer = std::make_unique<Informer>(simulation, client, core::kNode, informer_options);
    ControllerOptions options;
    options.name = "copy";
    options.workers = 3;
    options.rate_limits.longest_retry = 5s;
    controller = std::make_unique<Controller>(
        simulation, options, [this](const ObjectKey& key, const Call& call) { return copy(key, call); });
    controller->watch(*informer);
  }

  Result<Reconciled> copy(const ObjectKey& key, const Call& call) {
    EXPECT_TRUE(informer->synced());
    EXPECT_TRUE(in_progress.insert(key).second) << "two workers at once";
    const ObjectPtr seen = informer->get(key);
    Result<Reconciled> result = Reconciled{};
    if (seen != nullptr) {
      json::Value own = json::Object{};
      json::ensure(own, {"metadata", "annotations", "copied"}) = seen->text({"spec", "wanted"});
      const auto written = merge_patch_own_fields(client, core::kNode, *seen, own, IfChanged::kRefuse, {}, call);
      if (!written.ok()) result = written.error();
    }
    in_progress.erase(key);
    return result;
  }

  sim::Simulation simulation;
  FakeServer server;
  FakeClient direct;
  FakeClient client;
  std::set<ObjectKey> in_progress;
  std::unique_ptr<Informer> informer;
  std::unique_ptr<Controller> controller;
};

TEST(Controller, ConvergesWhateverTheLinkDoes) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CopyWorld world(seed);
    world.client.set_faults({.fail_call = 0.2, .drop_event = 0.1, .duplicate_event = 0.1, .end_stream = 0.1});
    world.controller->start();
    world.informer->start();
    auto writer = world.simulation.spawn("writer", [&](std::stop_token stop) {
      for (int i = 0; i < 40; ++i) {
        const ObjectKey key{"", fmt::format("n{}", world.simulation.random().below(5))};
        Object object(core::kNode, key);
        json::ensure(object.json(), {"spec", "wanted"}) = std::to_string(i);
        if (!world.direct.create(core::kNode, object, {}, {stop, {}}).ok()) {
          const json::Value patch = json::Object{{"spec", json::Object{{"wanted", std::to_string(i)}}}};
          EXPECT_TRUE(world.direct.patch(core::kNode, key, PatchType::kMerge, patch, {}, {stop, {}}).ok());
        }
        if (!world.simulation.sleep(std::chrono::milliseconds(world.simulation.random().below(500)), stop).ok()) return;
      }
    });
    run_for(world.simulation, 10min);
    const Result<ListPage> all = world.direct.list(core::kNode, "", {}, {});
    ASSERT_FALSE(all->items.empty());
    for (const Object& object : all->items) {
      EXPECT_EQ(object.annotation("copied"), object.text({"spec", "wanted"}))
          << "seed " << seed << ", " << object.name();
    }
    EXPECT_TRUE(world.controller->errors().empty()) << "seed " << seed;
    const auto settled = world.server.version();
    run_for(world.simulation, 10min);
    EXPECT_EQ(world.server.version(), settled) << "a settled state must cost no write";
  }
}

TEST(Controller, MapsObjectsToTheKeysTheyConcern) {
  sim::Simulation simulation(1);
  FakeServer server(simulation);
  FakeClient client(server);
  Informer pods(simulation, client, core::kPod);
  std::vector<std::string> reconciled;
  Controller controller(simulation, {.name = "nodes"}, [&](const ObjectKey& key, const Call&) -> Result<Reconciled> {
    reconciled.push_back(key.name);
    return Reconciled{};
  });
  controller.watch(pods,
                   [](const Object& pod) { return std::vector<ObjectKey>{{"", pod.text({"spec", "nodeName"})}}; });
  controller.start();
  pods.start();
  Object pod(core::kPod, {"x", "p"});
  json::ensure(pod.json(), {"spec", "nodeName"}) = "n1";
  ASSERT_TRUE(client.create(core::kPod, pod, {}, {}).ok());
  run_for(simulation, 1s);
  EXPECT_EQ(std::exchange(reconciled, {}), (std::vector<std::string>{"n1"}));
  const json::Value move = json::Object{{"spec", json::Object{{"nodeName", "n2"}}}};
  ASSERT_TRUE(client.patch(core::kPod, {"x", "p"}, PatchType::kMerge, move, {}, {}).ok());
  run_for(simulation, 1s);
  EXPECT_EQ(std::exchange(reconciled, {}), (std::vector<std::string>{"n1", "n2"}));
  ASSERT_TRUE(client.remove(core::kPod, {"x", "p"}, {}, {}).ok());
  run_for(simulation, 1s);
  EXPECT_EQ(reconciled, (std::vector<std::string>{"n2"}));
}

TEST(Controller, AnUpdateNobodyWouldActOnWakesNobody) {
  sim::Simulation simulation(1);
  FakeServer server(simulation);
  FakeClient client(server);
  Informer informer(simulation, client, core::kNode);
  int reconciles = 0;
  Controller controller(simulation, {.name = "test"}, [&](const ObjectKey&, const Call&) -> Result<Reconciled> {
    ++reconciles;
    return Reconciled{};
  });
  controller.watch(
      informer, [](const Object& node) { return std::vector<ObjectKey>{node.key()}; }, spec_changed,
      [](const Object& before, const Object& now) { return before.label("zone") == now.label("zone"); });
  informer.start();
  controller.start();
  const auto patch = [&](std::string_view kind, std::string_view value) {
    const json::Value change = json::Object{{"metadata", json::Object{{kind, json::Object{{"zone", value}}}}}};
    ASSERT_TRUE(client.patch(core::kNode, {"", "n"}, PatchType::kMerge, change, {}, {}).ok());
    run_for(simulation, 1s);
  };
  ASSERT_TRUE(client.create(core::kNode, Object(core::kNode, {"", "n"}), {}, {}).ok());
  run_for(simulation, 1s);
  EXPECT_EQ(reconciles, 1);
  patch("annotations", "heartbeat");
  EXPECT_EQ(reconciles, 1);
  patch("labels", "z");
  EXPECT_EQ(reconciles, 2);
}

}  // namespace strake::kube::controller_test
