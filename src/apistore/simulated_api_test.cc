#include "apistore/simulated_api.h"

#include <gtest/gtest.h>

#include <map>

#include "apistore/in_process_api.h"
#include "apistore/testing/test_service.h"

namespace strake::apistore::simulated_api_test {

using kube::core::kConfigMap;
using kube::core::kNode;
using testkit::object;
using testkit::parse;
using namespace std::chrono_literals;

/// name -> resourceVersion: what a client believes exists.
using Belief = std::map<std::string, std::string>;

/// A careful client: lists, watches, resumes, lists again when told to. Ends when its belief holds `wanted` objects
/// marked done.
void follow(sim::Simulation& simulation, kube::KubeApi& api, std::stop_token stop, Belief& belief) {
  while (!stop.stop_requested()) {
    Belief listed;
    kube::ListOptions options;
    options.limit = 3;
    bool complete = false;
    std::string version;
    while (!complete) {
      auto page = api.list(kConfigMap, "default", options, {stop, std::nullopt});
      if (!page.ok()) break;
      for (const kube::Object& item : page->items) listed[item.name()] = item.resource_version();
      version = page->resource_version;
      options.continue_token = page->continue_token;
      complete = page->continue_token.empty();
    }
    if (!complete) {
      if (!simulation.sleep(100ms, stop).ok()) return;
      continue;
    }
    belief = listed;
    bool expired = false;
    while (!expired && !stop.stop_requested()) {
      kube::WatchOptions watch;
      watch.resource_version = version;
      auto stream = api.watch(kConfigMap, "default", watch, {stop, std::nullopt});
      if (!stream.ok()) {
        expired = stream.error().code() == Code::kExpired;
        if (!simulation.sleep(100ms, stop).ok()) return;
        continue;
      }
      while (true) {
        auto event = (*stream)->next({stop, std::nullopt});
        if (!event.ok()) {
          expired = event.error().code() == Code::kExpired;
          break;
        }
        if (!*event) break;
        const kube::Object& item = (*event)->object;
        if (std::stoll(item.resource_version()) <= std::stoll(version)) continue;  // delivered twice
        version = item.resource_version();
        if ((*event)->type == kube::WatchType::kDeleted) belief.erase(item.name());
        if ((*event)->type == kube::WatchType::kAdded || (*event)->type == kube::WatchType::kModified)
          belief[item.name()] = version;
      }
    }
  }
}

struct RunResult {
  FaultCounts counts;
  std::uint64_t hash = 0;
};

RunResult run_race(std::uint64_t seed) {
  sim::Simulation simulation(seed);
  ServiceOptions options;
  options.store.events = {.ring_events = 20, .ring_bytes = 1u << 20, .queue_events = 8};
  auto service = testkit::open_service(simulation, options);
  InProcessApi server(*service, {"admin", {"strake:admins"}});
  const FaultPlan plan = FaultPlan::rough();
  const auto counts = std::make_shared<FaultCounts>();
  std::vector<std::unique_ptr<SimulatedApi>> apis;
  for (std::uint64_t i = 0; i < 6; ++i)
    apis.push_back(std::make_unique<SimulatedApi>(simulation, server, plan, seed * 100 + i, counts));

  std::vector<Belief> beliefs(3);
  std::vector<runtime::Task> watchers;
  for (std::size_t i = 0; i < beliefs.size(); ++i) {
    watchers.push_back(simulation.spawn(fmt::format("watcher-{}", i), [&, i](std::stop_token stop) {
      follow(simulation, *apis[3 + i], std::move(stop), beliefs[i]);
    }));
  }
  std::vector<int> increments(3, 0);
  std::vector<runtime::Task> writers;
  for (std::size_t w = 0; w < 3; ++w) {
    writers.push_back(simulation.spawn(fmt::format("writer-{}", w), [&, w](std::stop_token stop) {
      kube::KubeApi& api = *apis[w];
      for (int i = 0; i < 60 && !stop.stop_requested(); ++i) {
        const std::string name = fmt::format("c{}", simulation.random().below(8));
        const kube::Call call{stop, std::nullopt};
        if (simulation.random().chance(0.2)) {
          static_cast<void>(api.remove(kConfigMap, {"default", name}, {}, call));
        } else if (auto present = api.get(kConfigMap, {"default", name}, call); present.ok()) {
          json::ensure(present->json(), {"data", "count"}) = std::to_string(i);
          if (api.update(kConfigMap, *present, {}, call).ok()) ++increments[w];
        } else {
          static_cast<void>(api.create(kConfigMap, kube::Object(kConfigMap, {"default", name}), {}, call));
        }
        if (!simulation.sleep(20ms, stop).ok()) return;
      }
    }));
  }
  const auto writers_done = [&] {
    return std::all_of(writers.begin(), writers.end(), [](const auto& task) { return task.done(); });
  };
  EXPECT_EQ(simulation.run({}, writers_done), sim::RunEnd::kConditionMet) << "seed " << seed;

  Belief truth;
  Request admin = testkit::as_admin();
  const auto list = service->list(admin, kConfigMap, "default", {});
  for (const std::string& text : list->items) {
    const kube::Object item(parse(text));
    truth[item.name()] = item.resource_version();
  }
  const auto all_agree = [&] {
    return std::all_of(beliefs.begin(), beliefs.end(), [&](const Belief& one) { return one == truth; });
  };
  sim::RunLimits limits;
  limits.virtual_time = 1h;
  EXPECT_EQ(simulation.run(limits, all_agree), sim::RunEnd::kConditionMet)
      << "a watcher never learned the truth, seed " << seed;
  const RunResult result{*counts, simulation.trace_hash()};
  for (auto& task : watchers) task.stop_and_join();
  return result;
}

TEST(SimulatedApi, CarefulClientsConvergeThroughEveryFault) {
  FaultCounts total;
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    const FaultCounts counts = run_race(seed).counts;
    total.conflicts += counts.conflicts;
    total.lost_requests += counts.lost_requests;
    total.lost_answers += counts.lost_answers;
    total.slow_calls += counts.slow_calls;
    total.watch_drops += counts.watch_drops;
    total.watch_repeats += counts.watch_repeats;
    total.watch_expiries += counts.watch_expiries;
    total.watch_lags += counts.watch_lags;
    total.page_expiries += counts.page_expiries;
  }
  EXPECT_GT(total.conflicts, 0u);
  EXPECT_GT(total.lost_requests, 0u);
  EXPECT_GT(total.lost_answers, 0u);
  EXPECT_GT(total.slow_calls, 0u);
  EXPECT_GT(total.watch_drops, 0u);
  EXPECT_GT(total.watch_repeats, 0u);
  EXPECT_GT(total.watch_expiries, 0u);
  EXPECT_GT(total.watch_lags, 0u);
  EXPECT_GT(total.page_expiries, 0u);
}

TEST(SimulatedApi, ASeedReplaysByteForByte) {
  EXPECT_EQ(run_race(7).hash, run_race(7).hash);
  EXPECT_NE(run_race(7).hash, run_race(8).hash);
}

class SimulatedApiTest : public ::testing::Test {
 protected:
  bool exists(const std::string& name) { return service_->get(request_, kNode, {"", name}).ok(); }
  Code create(kube::KubeApi& api, const std::string& name) {
    const auto created = api.create(kNode, kube::Object(kNode, {"", name}), {}, {});
    return created.ok() ? Code::kInternal : created.error().code();
  }

  sim::Simulation simulation_{1};
  std::unique_ptr<Service> service_ = testkit::open_service(simulation_);
  Request request_ = testkit::as_admin();
  InProcessApi server_{*service_, {"admin", {"strake:admins"}}};
};

TEST_F(SimulatedApiTest, ALostRequestHasNoEffectAndALostAnswerHas) {
  FaultPlan plan;
  SimulatedApi api(simulation_, server_, plan, 1);
  plan.lost_request = 1;
  EXPECT_EQ(create(api, "a"), Code::kUnavailable);
  EXPECT_FALSE(exists("a"));
  plan = {};
  plan.lost_answer = 1;
  EXPECT_EQ(create(api, "b"), Code::kUnavailable);
  EXPECT_TRUE(exists("b"));
  plan = {};
  plan.conflict = 1;
  const auto refused =
      api.patch(kNode, {"", "b"}, kube::PatchType::kMerge, parse(R"({"metadata":{"labels":{"a":"b"}}})"), {}, {});
  EXPECT_EQ(refused.error().code(), Code::kConflict);
  EXPECT_EQ(api.counts().lost_requests, 1u);
  EXPECT_EQ(api.counts().lost_answers, 1u);
  EXPECT_EQ(api.counts().conflicts, 1u);
}

TEST_F(SimulatedApiTest, AFenceEndsAProcessBetweenTwoCalls) {
  const FaultPlan plan;
  SimulatedApi api(simulation_, server_, plan, 1);
  auto stream = api.watch(kNode, "", {}, {});
  ASSERT_TRUE(stream.ok());
  api.fence().crash_after_calls(2);
  EXPECT_EQ(create(api, "a"), Code::kInternal);
  EXPECT_EQ(create(api, "b"), Code::kInternal);
  EXPECT_EQ(create(api, "c"), Code::kCancelled);
  EXPECT_TRUE(api.fence().down());
  EXPECT_EQ((*stream)->next({}).error().code(), Code::kCancelled);
  EXPECT_TRUE(exists("b"));
  EXPECT_FALSE(exists("c"));
  api.fence().lower();
  EXPECT_EQ(create(api, "c"), Code::kInternal) << "a new life";
}

}  // namespace strake::apistore::simulated_api_test
