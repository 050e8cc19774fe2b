// The drain controller against the real store: what it does to nodes and pods, in which order, with budgets, lost
// watches, an API that goes away and a process that dies.
#include "rollout/drain/drain_controller.h"

#include <gtest/gtest.h>

#include "api/node_annotations.h"
#include "simulation/render_stage.h"
#include "simulation/seeds.h"

namespace strake::simulation::drain_controller_test {

using namespace std::chrono_literals;

constexpr const char* kDrain = "drain-rendered-worker-1";
constexpr const char* kUncordon = "uncordon-rendered-worker-1";

struct DrainStage : RenderStage {
  explicit DrainStage(std::uint64_t seed) : RenderStage(seed) {
    apply("{apiVersion: v1, kind: Namespace, metadata: {name: apps}}");
    apply("{apiVersion: v1, kind: Node, metadata: {name: node-1}}");
  }

  void start(std::optional<std::uint64_t> calls = std::nullopt) {
    start_process(
        [this](kube::KubeApi& api, std::stop_token stop) {
          rollout::DrainOptions options;
          options.on_drain = [this](const rollout::DrainReport& report) { reports.push_back(report); };
          rollout::DrainController controller(simulation(), api, options);
          controller.start();
          (void)simulation().sleep(24h * 365, stop);
          controller.stop();
        },
        calls);
  }
  void put_pod(const std::string& name, const std::string& more = "", const std::string& node = "node-1") {
    apply(fmt::format(R"(apiVersion: v1
kind: Pod
metadata: {{name: {0}, namespace: apps, labels: {{app: {0}}}{1}}}
spec: {{nodeName: {2}, containers: [{{name: c, image: i}}]}}
status: {{phase: Running, conditions: [{{type: Ready, status: "True"}}]}}
)",
                      name, more, node));
  }
  void ask(const std::string& what) {
    json::Value patch;
    json::ensure(patch, {"metadata", "annotations", api::node_annotation::kDesiredDrain}) = what;
    ASSERT_TRUE(admin().patch(kube::core::kNode, {"", "node-1"}, kube::PatchType::kMerge, patch, {}, {}).ok());
  }
  void set_schedulable(bool schedulable) {
    json::Value patch;
    json::ensure(patch, {"spec", "unschedulable"}) = !schedulable;
    ASSERT_TRUE(admin().patch(kube::core::kNode, {"", "node-1"}, kube::PatchType::kMerge, patch, {}, {}).ok());
  }
  api::DrainView node() { return api::drain_view(*admin().get(kube::core::kNode, {"", "node-1"}, {})); }
  std::vector<std::string> pods() {
    std::vector<std::string> names;
    for (const kube::Object& pod : list(kube::core::kPod)) names.push_back(pod.name());
    return names;
  }
  std::size_t events_of(const std::string& reason) {
    std::size_t count = 0;
    for (const kube::Object& event : list(kube::core::kEvent))
      count += json::find_string(event.json(), {"reason"}) == reason ? 1 : 0;
    return count;
  }

  std::vector<rollout::DrainReport> reports;
};

TEST(DrainController, DrainsAndOpensAgain) {
  DrainStage stage(1);
  stage.put_pod("app");
  stage.put_pod("elsewhere", "", "other");
  stage.put_pod("mirror", R"(, annotations: {kubernetes.io/config.mirror: x})");
  stage.put_pod("daemon",
                R"(, ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: d, uid: u, controller: true}])");
  stage.start();
  stage.ask(kDrain);
  ASSERT_TRUE(stage.run_until([&] { return stage.node().applied == kDrain; }));
  EXPECT_FALSE(stage.node().schedulable);
  EXPECT_EQ(stage.pods(), (std::vector<std::string>{"daemon", "elsewhere", "mirror"}));
  stage.ask(kUncordon);
  ASSERT_TRUE(stage.run_until([&] { return stage.node().applied == kUncordon; }));
  EXPECT_TRUE(stage.node().schedulable);
  EXPECT_FALSE(stage.node().cordoned_by_us);
  // Nothing is asked for: nothing is written any more.
  stage.run_for(1min);
  const std::string version = stage.store_version();
  stage.run_for(20min);
  EXPECT_EQ(stage.store_version(), version);
}

TEST(DrainController, ANodeSomebodyElseClosedStaysClosed) {
  DrainStage stage(1);
  stage.set_schedulable(false);
  stage.start();
  stage.ask(kDrain);
  ASSERT_TRUE(stage.run_until([&] { return stage.node().applied == kDrain; }));
  stage.ask(kUncordon);
  ASSERT_TRUE(stage.run_until([&] { return stage.node().applied == kUncordon; }));
  EXPECT_FALSE(stage.node().schedulable);
  stage.run_for(1min);
  EXPECT_EQ(stage.events_of("UncordonSkipped"), 1u);
}

TEST(DrainController, ABudgetIsRespectedAndSaidUntilItAllowsIt) {
  DrainStage stage(1);
  stage.put_pod("db");
  stage.apply(R"(apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: db, namespace: apps}
spec: {minAvailable: 1, selector: {matchLabels: {app: db}}}
)");
  stage.start();
  stage.ask(kDrain);
  stage.run_for(9min);
  EXPECT_EQ(stage.events_of("DrainThresholdExceeded"), 0u);
  EXPECT_EQ(stage.node().applied, "");
  ASSERT_FALSE(stage.reports.empty());
  EXPECT_NE(stage.reports.back().why.find("apps/db"), std::string::npos) << stage.reports.back().why;
  stage.run_for(55min);
  EXPECT_EQ(stage.events_of("DrainThresholdExceeded"), 1u);
  EXPECT_EQ(stage.events_of("DrainFailed"), 1u);
  EXPECT_TRUE(stage.reports.back().overdue);
  EXPECT_EQ(stage.pods(), std::vector<std::string>{"db"});
  // Opened in the middle by somebody: closed again, for the drain is not done.
  stage.set_schedulable(true);
  ASSERT_TRUE(stage.run_until([&] { return !stage.node().schedulable; }));
  ASSERT_TRUE(stage.admin().remove(kube::core::kPodDisruptionBudget, {"apps", "db"}, {}, {}).ok());
  ASSERT_TRUE(stage.run_until([&] { return stage.node().applied == kDrain; }));
  EXPECT_FALSE(stage.reports.back().overdue);
}

TEST(DrainController, APodNobodyCanEvictKeepsNoOtherAndIsNamed) {
  DrainStage stage(1);
  stage.put_pod("a-db");
  stage.put_pod("web");
  for (const char* name : {"one", "two"}) {
    stage.apply(fmt::format(R"(apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: {}, namespace: apps}}
spec: {{maxUnavailable: 1, selector: {{matchLabels: {{app: a-db}}}}}}
)",
                            name));
  }
  stage.start();
  stage.ask(kDrain);
  ASSERT_TRUE(stage.run_until([&] { return stage.pods() == std::vector<std::string>{"a-db"}; }));
  stage.run_for(11min);
  EXPECT_EQ(stage.events_of("DrainThresholdExceeded"), 1u);
  EXPECT_NE(stage.reports.back().why.find("apps/a-db"), std::string::npos) << stage.reports.back().why;
  EXPECT_EQ(stage.node().applied, "");
}

TEST(DrainController, AWordNobodyKnowsIsSaidAndNothingIsDone) {
  DrainStage stage(1);
  stage.put_pod("app");
  stage.start();
  stage.ask("explode-now");
  ASSERT_TRUE(stage.run_until([&] { return stage.events_of("DrainRequestUnknown") == 1; }));
  stage.run_for(10min);
  EXPECT_EQ(stage.events_of("DrainRequestUnknown"), 1u);
  EXPECT_TRUE(stage.node().schedulable);
  EXPECT_EQ(stage.pods(), std::vector<std::string>{"app"});
}

TEST(DrainController, WithFaultsAndKillsEveryRequestIsAnsweredInOrder) {
  for (std::uint64_t seed = 1; seed <= seeds_of_share(kDrainShare); ++seed) {
    SCOPED_TRACE(seed);
    DrainStage stage(seed);
    stage.faults() = apistore::FaultPlan::rough();
    for (const char* name : {"a", "b", "c"}) stage.put_pod(name);
    stage.ask(kDrain);
    // Killed again and again in its first calls, then left to live.
    for (std::uint64_t calls = 1; calls <= 12; calls += 1 + seed % 3) {
      stage.start(calls);
      stage.run_until([&] { return stage.controller_died() || stage.node().applied == kDrain; });
      // An answer is given only when nothing is left that had to leave.
      if (stage.node().applied == kDrain) {
        EXPECT_TRUE(stage.pods().empty());
        EXPECT_FALSE(stage.node().schedulable);
      }
      stage.stop_controller();
    }
    stage.start();
    ASSERT_TRUE(stage.run_until([&] { return stage.node().applied == kDrain; }));
    EXPECT_TRUE(stage.pods().empty());
    EXPECT_FALSE(stage.node().schedulable);
    stage.ask(kUncordon);
    ASSERT_TRUE(stage.run_until([&] { return stage.node().applied == kUncordon; }));
    EXPECT_TRUE(stage.node().schedulable);
    EXPECT_FALSE(stage.node().cordoned_by_us);
    stage.stop_controller();
  }
}

}  // namespace strake::simulation::drain_controller_test
