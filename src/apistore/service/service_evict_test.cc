#include <gtest/gtest.h>

#include "apistore/rules/disruption.h"
#include "apistore/service/service.h"
#include "apistore/testing/test_service.h"
#include "base/simulation.h"

namespace strake::apistore::service_evict_test {

using kube::core::kPod;
using kube::core::kPodDisruptionBudget;
using testkit::object;
using testkit::parse;
using namespace std::chrono_literals;

class EvictTest : public ::testing::Test {
 protected:
  void pod(const std::string& name, bool ready = true, std::string_view phase = "Running") {
    ASSERT_TRUE(
        service_
            ->create(
                request_, kPod, "",
                object(kPod, "default", name,
                       R"({"metadata":{"labels":{"app":"db"}},"spec":{"nodeName":"n","containers":[{"name":"c"}]}})"),
                {})
            .ok());
    kube::WriteOptions status;
    status.subresource = "status";
    const json::Value patch =
        parse(fmt::format(R"({{"status":{{"phase":"{}","conditions":[{{"type":"Ready","status":"{}"}}]}}}})", phase,
                          ready ? "True" : "False"));
    ASSERT_TRUE(service_->patch(request_, kPod, {"default", name}, kube::PatchType::kMerge, patch, status).ok());
  }
  void budget(const std::string& name, std::string_view spec) {
    const auto created =
        service_->create(request_, kPodDisruptionBudget, "",
                         object(kPodDisruptionBudget, "default", name,
                                fmt::format(R"({{"spec":{{"selector":{{"matchLabels":{{"app":"db"}}}},{}}}}})", spec)),
                         {});
    ASSERT_TRUE(created.ok()) << created.error().to_string();
  }
  Status evict(const std::string& name) { return service_->evict(request_, {"default", name}, {}); }

  sim::Simulation simulation_{1};
  std::unique_ptr<Service> service_ = testkit::open_service(simulation_);
  Request request_ = testkit::as_admin();
};

TEST_F(EvictTest, WithoutBudgetPodsGo) {
  pod("a");
  EXPECT_TRUE(evict("a").ok());
  EXPECT_EQ(evict("a").error().code(), Code::kNotFound);
}

TEST_F(EvictTest, ABudgetRefusesInTheWordsOfARealServer) {
  pod("a");
  pod("b");
  budget("db", R"("minAvailable":2)");
  const Status refused = evict("a");
  EXPECT_EQ(refused.error().code(), Code::kExhausted);
  EXPECT_EQ(refused.error().reason(), "TooManyRequests");
  EXPECT_EQ(refused.error().to_string(), "Cannot evict pod as it would violate the pod's disruption budget.");
  ASSERT_EQ(request_.details.causes.size(), 1u);
  EXPECT_EQ(request_.details.causes[0].reason, "DisruptionBudget");
  EXPECT_EQ(request_.details.causes[0].message, "The disruption budget db needs 2 healthy pods and has 2 currently");
  pod("c");
  EXPECT_TRUE(evict("a").ok());
  EXPECT_FALSE(evict("b").ok());
}

TEST_F(EvictTest, PodsThatDoNotCountGoAnyway) {
  pod("a");
  pod("done", false, "Succeeded");
  pod("starting", false, "Pending");
  budget("db", R"("minAvailable":1)");
  EXPECT_TRUE(evict("done").ok());
  EXPECT_TRUE(evict("starting").ok());
  EXPECT_FALSE(evict("a").ok());
  pod("sick", false);
  EXPECT_TRUE(evict("sick").ok()) << "unhealthy, and the budget is met without it";
}

TEST_F(EvictTest, UnhealthyPodsWaitForAHealthyBudgetUnlessAlwaysAllowed) {
  pod("sick", false);
  budget("db", R"("minAvailable":1)");
  EXPECT_FALSE(evict("sick").ok());
  ASSERT_TRUE(service_
                  ->patch(request_, kPodDisruptionBudget, {"default", "db"}, kube::PatchType::kMerge,
                          parse(R"({"spec":{"unhealthyPodEvictionPolicy":"AlwaysAllow"}})"), {})
                  .ok());
  EXPECT_TRUE(evict("sick").ok());
}

TEST_F(EvictTest, TwoBudgetsForOnePodAreRefused) {
  pod("a");
  budget("one", R"("minAvailable":0)");
  budget("two", R"("minAvailable":0)");
  EXPECT_EQ(evict("a").error().reason(), "InternalError");
}

struct BudgetCase {
  const char* name;
  const char* spec;
  int ready;
  int unready;
  std::int64_t desired;
  std::int64_t allowed;
};

class Budgets : public ::testing::TestWithParam<BudgetCase> {};

TEST_P(Budgets, CountTheirPods) {
  const BudgetCase& one = GetParam();
  std::vector<json::Value> pods;
  for (int i = 0; i < one.ready + one.unready; ++i) {
    pods.push_back(parse(fmt::format(
        R"({{"metadata":{{"labels":{{"a":"b"}}}},"status":{{"phase":"Running","conditions":[{{"type":"Ready","status":"{}"}}]}}}})",
        i < one.ready ? "True" : "False")));
  }
  pods.push_back(parse(R"({"metadata":{"labels":{"a":"b"}},"status":{"phase":"Failed"}})"));
  pods.push_back(parse(R"({"metadata":{"labels":{"a":"c"}},"status":{"phase":"Running"}})"));
  std::vector<const json::Value*> pointers;
  for (const json::Value& pod : pods) pointers.push_back(&pod);
  const auto state = budget_state(
      parse(fmt::format(R"({{"spec":{{"selector":{{"matchLabels":{{"a":"b"}}}}{}}}}})", one.spec)), pointers);
  ASSERT_TRUE(state.ok()) << state.error().to_string();
  EXPECT_EQ(state->expected, one.ready + one.unready);
  EXPECT_EQ(state->healthy, one.ready);
  EXPECT_EQ(state->desired, one.desired);
  EXPECT_EQ(state->allowed, one.allowed);
}

INSTANTIATE_TEST_SUITE_P(
    Table, Budgets,
    ::testing::Values(BudgetCase{"MinAvailable", R"(,"minAvailable":2)", 3, 1, 2, 1},
                      BudgetCase{"MinAvailablePercentRoundsUp", R"(,"minAvailable":"50%")", 5, 0, 3, 2},
                      BudgetCase{"MaxUnavailable", R"(,"maxUnavailable":1)", 4, 0, 3, 1},
                      BudgetCase{"MaxUnavailableCountsTheSick", R"(,"maxUnavailable":1)", 3, 1, 3, 0},
                      BudgetCase{"MaxUnavailablePercentRoundsUp", R"(,"maxUnavailable":"30%")", 5, 0, 3, 2},
                      BudgetCase{"MaxUnavailableMoreThanAll", R"(,"maxUnavailable":9)", 2, 0, 0, 2},
                      BudgetCase{"Nothing", "", 2, 0, 2, 0}, BudgetCase{"NoPods", R"(,"minAvailable":0)", 0, 0, 0, 0}),
    [](const auto& which) { return which.param.name; });

TEST_F(EvictTest, TheStatusOfABudgetFollowsItsPods) {
  pod("a");
  pod("b");
  budget("db", R"("maxUnavailable":1)");
  service_->start();
  sim::RunLimits limits;
  limits.virtual_time = 10s;
  simulation_.run(limits);
  const auto allowed = [&] {
    const auto read = service_->get(request_, kPodDisruptionBudget, {"default", "db"});
    return json::find_int(read->object, {"status", "disruptionsAllowed"}).value_or(-1);
  };
  EXPECT_EQ(allowed(), 1);
  const json::Value sick = parse(R"({"status":{"conditions":[{"type":"Ready","status":"False"}]}})");
  kube::WriteOptions status;
  status.subresource = "status";
  ASSERT_TRUE(service_->patch(request_, kPod, {"default", "a"}, kube::PatchType::kMerge, sick, status).ok());
  simulation_.run(limits);
  EXPECT_EQ(allowed(), 0);
}

TEST(EvictionRace, ConcurrentEvictionsNeverBreakTheBudget) {
  runtime::ThreadRuntime runtime;
  auto service = testkit::open_service(runtime);
  Request admin = testkit::as_admin();
  constexpr int kPods = 8;
  constexpr int kMinAvailable = 5;
  kube::WriteOptions status;
  status.subresource = "status";
  for (int i = 0; i < kPods; ++i) {
    const std::string name = fmt::format("p{}", i);
    ASSERT_TRUE(service
                    ->create(admin, kPod, "",
                             object(kPod, "default", name,
                                    R"({"metadata":{"labels":{"app":"db"}},"spec":{"containers":[{"name":"c"}]}})"),
                             {})
                    .ok());
    const json::Value ready =
        parse(R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})");
    ASSERT_TRUE(service->patch(admin, kPod, {"default", name}, kube::PatchType::kMerge, ready, status).ok());
  }
  ASSERT_TRUE(service
                  ->create(admin, kPodDisruptionBudget, "",
                           object(kPodDisruptionBudget, "default", "db",
                                  fmt::format(R"({{"spec":{{"minAvailable":{},"selector":{{}}}}}})", kMinAvailable)),
                           {})
                  .ok());
  std::atomic<int> evicted = 0;
  {
    std::vector<runtime::Task> tasks;
    for (int i = 0; i < kPods; ++i) {
      tasks.push_back(runtime.spawn("drain", [&, i](std::stop_token) {
        Request own = testkit::as_admin();
        if (service->evict(own, {"default", fmt::format("p{}", i)}, {}).ok()) ++evicted;
      }));
    }
    for (auto& task : tasks) task.join();
  }
  EXPECT_EQ(evicted, kPods - kMinAvailable);
  EXPECT_EQ(service->list(admin, kPod, "default", {})->items.size(), static_cast<std::size_t>(kMinAvailable));
}

}  // namespace strake::apistore::service_evict_test
