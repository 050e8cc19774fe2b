// The rollout controller against the real store, without agents: what it says when a pool cannot get on, what it costs,
// and what it does when it fails all the time.
#include "rollout/rollout_controller.h"

#include <gtest/gtest.h>

#include "api/conditions.h"
#include "api/kinds.h"
#include "simulation/counting_api.h"
#include "simulation/lagging_rollout.h"
#include "simulation/render_stage.h"

namespace strake::simulation::rollout_controller_test {

using namespace std::chrono_literals;
using rollout::PoolReport;
using rollout::TroubleKind;

/// Render and rollout controllers, two pools, and nodes that only a test changes.
struct RolloutStage : RenderStage {
  explicit RolloutStage(std::uint64_t seed = 1) : RenderStage(seed) {
    apply(pool_text("worker"));
    put_file_config("50-worker", "worker", "/etc/w", "1");
  }

  static std::string pool_text(const std::string& name, const std::string& more = "") {
    return fmt::format(R"(apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {{name: {0}}}
spec:
  machineConfigSelector:
    matchExpressions: [{{key: machineconfiguration.openshift.io/role, operator: In, values: [worker, {0}]}}]
  nodeSelector: {{matchLabels: {{node-role.kubernetes.io/{0}: ""}}}}
{1})",
                       name, more);
  }

  void put_node(const std::string& name, const std::vector<std::string>& roles) {
    std::string labels;
    for (const std::string& role : roles) {
      labels += fmt::format("{}node-role.kubernetes.io/{}: \"\"", labels.empty() ? "" : ", ", role);
    }
    apply(fmt::format(R"(apiVersion: v1
kind: Node
metadata: {{name: {}, labels: {{{}}}}}
status: {{conditions: [{{type: Ready, status: "True"}}]}}
)",
                      name, labels));
  }

  /// What a kubelet does all day.
  void heartbeat(const std::string& name, int beat) {
    apply(fmt::format(R"(apiVersion: v1
kind: Node
metadata: {{name: {}}}
status: {{conditions: [{{type: Ready, status: "True", lastHeartbeatTime: "2026-01-01T00:00:{:02}Z"}}]}}
)",
                      name, beat % 60));
  }

  /// What an agent says when it is done.
  void node_reaches(const std::string& name, const std::string& config) {
    apply(fmt::format(R"(apiVersion: v1
kind: Node
metadata:
  name: {0}
  annotations:
    machineconfiguration.openshift.io/currentConfig: {1}
    machineconfiguration.openshift.io/state: Done
)",
                      name, config));
  }

  void start_controllers(rollout::RolloutPolicy policy = {}) {
    start_process([this, policy](kube::KubeApi& inner, std::stop_token stop) {
      CountingApi api(inner);
      api.refuse = [this](std::string_view verb, const kube::Resource& resource) -> std::optional<Error> {
        return refuse ? refuse(verb, resource) : std::nullopt;
      };
      counting = &api;
      machineconfig::RenderOptions render_options;
      render_options.version = "1.0";
      render_options.on_report = [this](const machineconfig::RenderReport& report) { renders.push_back(report); };
      machineconfig::RenderController render(simulation(), api, render_options);
      rollout::RolloutOptions options;
      options.policy = policy;
      options.on_pool = [this](const PoolReport& report) { reports[report.pool] = report; };
      options.hooks.on_reconciled = [this](const kube::ReconcileRecord&) { ++reconciles; };
      rollout::RolloutController rollout(simulation(), api, options);
      render.start();
      rollout.start();
      (void)simulation().sleep(24h * 365, stop);
      rollout.stop();
      render.stop();
      work = rollout.work();
      counting = nullptr;
    });
  }

  std::string condition(const std::string& pool_name, std::string_view type) {
    const kube::Object found = pool(pool_name);
    const auto condition = api::find_condition(found.json(), type);
    if (!condition) return "";
    return fmt::format("{} {}: {}", api::to_string(condition->status), condition->reason, condition->message);
  }

  /// "Warning InvalidMaxUnavailable: ..." for each Event about a pool.
  std::vector<std::string> events_of(const std::string& pool_name) {
    std::vector<std::string> found;
    for (const kube::Object& event : list(kube::core::kEvent)) {
      if (event.text({"involvedObject", "name"}) != pool_name) continue;
      found.push_back(fmt::format("{} {}: {}", event.text({"type"}), event.text({"reason"}), event.text({"message"})));
    }
    return found;
  }
  bool has_event(const std::string& pool_name, const std::string& begins) {
    for (const std::string& event : events_of(pool_name)) {
      if (event.starts_with(begins)) return true;
    }
    return false;
  }
  bool has_trouble(const std::string& pool_name, TroubleKind kind) {
    for (const rollout::Trouble& trouble : reports[pool_name].troubles) {
      if (trouble.kind == kind) return true;
    }
    return false;
  }
  std::size_t targeted() {
    std::size_t count = 0;
    for (const kube::Object& node : list(kube::core::kNode)) {
      if (!api::node_view(node).desired_config.empty()) ++count;
    }
    return count;
  }

  std::function<std::optional<Error>(std::string_view verb, const kube::Resource& resource)> refuse;
  CountingApi* counting = nullptr;
  std::map<std::string, PoolReport> reports;
  std::vector<machineconfig::RenderReport> renders;
  std::uint64_t reconciles = 0;
  rollout::RolloutWork work;  ///< of the last life of the controllers
};

TEST(RolloutController, ABrokenSelectorDegradesItsPoolAndTheOthersGoOn) {
  RolloutStage stage;
  stage.apply(RolloutStage::pool_text("infra"));
  stage.apply(R"(apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: infra}
spec: {nodeSelector: {matchLabels: null, matchExpressions: [{key: a, operator: In, values: []}]}}
)");
  stage.put_node("a", {"worker"});
  stage.start_controllers();
  ASSERT_TRUE(stage.run_until([&] { return stage.targeted() == 1; })) << "the worker goes on";
  ASSERT_TRUE(stage.run_until([&] { return stage.condition("infra", "Degraded").starts_with("True"); }));
  EXPECT_TRUE(stage.condition("infra", "Degraded").starts_with("True InvalidNodeSelector: spec.nodeSelector cannot be"))
      << stage.condition("infra", "Degraded");
  EXPECT_TRUE(stage.condition("infra", "Updated").starts_with("False")) << stage.condition("infra", "Updated");
  EXPECT_TRUE(stage.condition("worker", "Degraded").starts_with("False"));
  ASSERT_TRUE(stage.run_until([&] { return stage.has_event("infra", "Warning InvalidNodeSelector: "); }));
  EXPECT_TRUE(stage.has_trouble("infra", TroubleKind::kInvalidNodeSelector));
  stage.apply(R"(apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: infra}
spec: {nodeSelector: {matchLabels: {i: ""}, matchExpressions: null}}
)");
  EXPECT_TRUE(stage.run_until([&] { return stage.condition("infra", "Updated").starts_with("True"); }))
      << stage.condition("infra", "Updated");
  EXPECT_TRUE(stage.condition("infra", "Degraded").starts_with("False"));
}

TEST(RolloutController, TheDefinitionRefusesOperatorsThatNobodyKnows) {
  RolloutStage stage;
  for (const char* selector : {"nodeSelector", "machineConfigSelector"}) {
    kube::Object pool(api::kMachineConfigPool, {"", "odd"});
    json::ensure(pool.json(), {"spec", selector, "matchExpressions"}) =
        json::Array{json::Object{{"key", "a"}, {"operator", "Near"}, {"values", json::Array{"b"}}}};
    const auto created = stage.admin().create(api::kMachineConfigPool, pool, {}, {});
    ASSERT_FALSE(created.ok()) << selector;
    EXPECT_EQ(created.error().code(), Code::kInvalidArgument);
    EXPECT_NE(created.error().to_string().find("operator"), std::string::npos) << created.error().to_string();
  }
}

TEST(RolloutController, ANodeOfTwoCustomPoolsIsSaidInBothAndLeftAlone) {
  RolloutStage stage;
  stage.apply(RolloutStage::pool_text("infra"));
  stage.apply(RolloutStage::pool_text("gpu"));
  stage.put_node("both", {"worker", "infra", "gpu"});
  stage.put_node("fine", {"worker", "infra"});
  stage.start_controllers();
  for (const char* pool : {"infra", "gpu"}) {
    ASSERT_TRUE(stage.run_until([&] { return stage.condition(pool, "Degraded").starts_with("True ContestedNodes: "); }))
        << pool << stage.condition(pool, "Degraded");
    EXPECT_NE(stage.condition(pool, "Degraded").find("node both belongs to 2 custom pools (gpu, infra)"),
              std::string::npos);
    ASSERT_TRUE(stage.run_until([&] { return stage.has_event(pool, "Warning ContestedNodes: "); })) << pool;
    EXPECT_TRUE(stage.condition(pool, "Updated").starts_with("False")) << stage.condition(pool, "Updated");
  }
  ASSERT_TRUE(stage.run_until([&] { return stage.targeted() == 1; })) << "the others of these pools go on";
  EXPECT_TRUE(stage.condition("worker", "Degraded").starts_with("False"));
}

TEST(RolloutController, AnImpossibleLimitIsSaidAndHealsWhenItIsCorrected) {
  for (const char* limit : {"\"40 %\"", "-1"}) {
    RolloutStage stage;
    stage.apply(RolloutStage::pool_text("worker", fmt::format("  maxUnavailable: {}\n", limit)));
    stage.put_node("a", {"worker"});
    stage.start_controllers();
    ASSERT_TRUE(stage.run_until([&] { return stage.targeted() == 1; })) << "a new node needs no turn";
    stage.node_reaches("a", stage.target("worker"));
    ASSERT_TRUE(stage.run_until([&] { return stage.condition("worker", "Updated").starts_with("True"); }));
    const std::string first = stage.target("worker");
    stage.put_file_config("50-worker", "worker", "/etc/w", "2");
    ASSERT_TRUE(stage.run_until([&] { return stage.target("worker") != first; }));
    ASSERT_TRUE(stage.run_until([&] {
      return stage.condition("worker", "Updating").starts_with("False InvalidMaxUnavailable: ");
    })) << limit
        << stage.condition("worker", "Updating");
    EXPECT_TRUE(stage.condition("worker", "Degraded").starts_with("True InvalidMaxUnavailable: "));
    EXPECT_TRUE(stage.has_trouble("worker", TroubleKind::kInvalidMaxUnavailable));
    ASSERT_TRUE(stage.run_until([&] { return stage.has_event("worker", "Warning InvalidMaxUnavailable: "); }));
    stage.apply(RolloutStage::pool_text("worker", "  maxUnavailable: 1\n"));
    ASSERT_TRUE(stage.run_until([&] { return stage.condition("worker", "Updating").starts_with("True"); }));
    EXPECT_TRUE(stage.condition("worker", "Degraded").starts_with("False"));
  }
}

TEST(RolloutController, ARefusedRenderIsNotCalledUpdated) {
  RolloutStage stage;
  stage.put_node("a", {"worker"});
  stage.start_controllers();
  ASSERT_TRUE(stage.run_until([&] { return stage.targeted() == 1; }));
  stage.node_reaches("a", stage.target("worker"));
  ASSERT_TRUE(stage.run_until([&] { return stage.condition("worker", "Updated").starts_with("True"); }));
  stage.put_file_config("60-bad", "worker", "relative/path", "x");
  ASSERT_TRUE(
      stage.run_until([&] { return stage.condition("worker", "Degraded").starts_with("True RenderFailed: "); }));
  EXPECT_NE(stage.condition("worker", "Degraded").find("60-bad"), std::string::npos);
  EXPECT_TRUE(stage.condition("worker", "Updated").starts_with("False RenderFailed: "));
  EXPECT_TRUE(stage.has_event("worker", "Warning RenderRefused: ") ||
              stage.run_until([&] { return stage.has_event("worker", "Warning RenderRefused: "); }));
  EXPECT_EQ(stage.renders.back().outcome, machineconfig::RenderReport::Outcome::kRefused);
  stage.remove_config("60-bad");
  ASSERT_TRUE(stage.run_until([&] { return stage.condition("worker", "Updated").starts_with("True"); }));
  EXPECT_EQ(stage.renders.back().outcome, machineconfig::RenderReport::Outcome::kRendered);
}

TEST(RolloutController, AnUnreadablePolicyIsSaidInsteadOfGuessed) {
  RolloutStage stage;
  stage.put_node("a", {"worker"});
  stage.start_controllers();
  ASSERT_TRUE(stage.run_until([&] { return stage.targeted() == 1; }));
  stage.node_reaches("a", stage.target("worker"));
  // A real server's validation rules refuse it; the embedded one does not run all of them.
  stage.apply(R"(apiVersion: operator.openshift.io/v1
kind: MachineConfiguration
metadata: {name: cluster}
spec:
  managementState: Managed
  nodeDisruptionPolicy: {files: [{path: /etc/w, actions: [{type: Reboot}, {type: Drain}]}]}
)");
  const std::string first = stage.target("worker");
  stage.put_file_config("50-worker", "worker", "/etc/w", "2");
  ASSERT_TRUE(stage.run_until([&] { return stage.target("worker") != first; }));
  ASSERT_TRUE(stage.run_until([&] {
    return stage.condition("worker", "Degraded").starts_with("True PolicyUnreadable: ");
  })) << stage.condition("worker", "Degraded");
  EXPECT_NE(stage.condition("worker", "Degraded").find("Reboot cannot be combined"), std::string::npos)
      << stage.condition("worker", "Degraded");
  EXPECT_TRUE(stage.condition("worker", "Updating").starts_with("False PolicyUnreadable: "));
  stage.apply(R"(apiVersion: operator.openshift.io/v1
kind: MachineConfiguration
metadata: {name: cluster}
spec: {nodeDisruptionPolicy: {files: [{path: /etc/w, actions: [{type: None}]}]}}
)");
  ASSERT_TRUE(stage.run_until([&] { return stage.condition("worker", "Updating").starts_with("True"); }));
  const auto nodes = stage.list(kube::core::kNode);
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(api::node_view(nodes[0]).planned_class, "none") << "as the policy has it";
}

TEST(RolloutController, ALateCacheNeverLetsOneNodeTooManyGo) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    const auto violations = LaggingRollout(seed, {}).run();
    ASSERT_TRUE(violations.empty()) << "seed " << seed << ": " << violations.front();
  }
}

TEST(RolloutController, AHeartbeatCostsNoCallAndNoPlan) {
  RolloutStage stage;
  const int kNodes = 5;
  for (int i = 0; i < kNodes; ++i) stage.put_node(fmt::format("n{}", i), {"worker"});
  stage.start_controllers();
  ASSERT_TRUE(stage.run_until([&] { return stage.targeted() == kNodes; }));
  stage.run_for(10s);
  EXPECT_EQ(stage.counting->count("list", kube::core::kNode), 1u) << "the informer's first";
  const std::uint64_t reconciles = stage.reconciles;
  const std::uint64_t calls = stage.calls_made();
  for (int beat = 0; beat < 20; ++beat) {
    for (int i = 0; i < kNodes; ++i) stage.heartbeat(fmt::format("n{}", i), beat);
  }
  stage.run_for(1s);
  EXPECT_EQ(stage.reconciles, reconciles);
  EXPECT_EQ(stage.calls_made(), calls);
  EXPECT_EQ(stage.counting->count("list", kube::core::kNode), 1u);
}

TEST(RolloutController, WhatARolloutCostsGrowsWithItsNodesAndNoFaster) {
  const auto cost_of = [](int nodes) {
    RolloutStage stage;
    stage.apply(RolloutStage::pool_text("worker", "  maxUnavailable: 1\n"));
    for (int i = 0; i < nodes; ++i) stage.put_node(fmt::format("n{:03}", i), {"worker"});
    stage.start_controllers();
    EXPECT_TRUE(stage.run_until([&] { return stage.targeted() == static_cast<std::size_t>(nodes); }));
    const std::string target = stage.target("worker");
    for (int i = 0; i < nodes; ++i) stage.node_reaches(fmt::format("n{:03}", i), target);
    EXPECT_TRUE(stage.run_until([&] { return stage.condition("worker", "Updated").starts_with("True"); }));
    const std::uint64_t reads =
        stage.counting->count("get", kube::core::kNode) + stage.counting->count("list", kube::core::kNode);
    EXPECT_LE(reads, 2u) << "nodes come from the cache";
    // A change that goes through the nodes one by one.
    stage.put_file_config("50-worker", "worker", "/etc/w", "2");
    EXPECT_TRUE(stage.run_until([&] { return stage.target("worker") != target; }));
    const std::string next = stage.target("worker");
    const auto under_way = [&]() -> std::string {
      for (const kube::Object& node : stage.list(kube::core::kNode)) {
        const api::NodeView view = api::node_view(node);
        if (view.desired_config == next && view.current_config != next) return view.name;
      }
      return "";
    };
    for (int i = 0; i < nodes; ++i) {
      EXPECT_TRUE(stage.run_until([&] { return !under_way().empty(); })) << i;
      stage.node_reaches(under_way(), next);
    }
    EXPECT_TRUE(stage.run_until([&] { return stage.condition("worker", "Updated").starts_with("True"); }));
    stage.stop_controller();
    return std::pair(stage.reconciles, stage.work);
  };
  const auto [few_reconciles, few] = cost_of(8);
  const auto [many_reconciles, many] = cost_of(32);
  EXPECT_LE(many_reconciles, 8 * few_reconciles) << "four times the nodes; " << few_reconciles << " reconciles before";
  // Each node is targeted and reports, twice; that its neighbours do costs it nothing.
  EXPECT_LE(few.views_read, 10u * 8);
  EXPECT_LE(many.views_read, 10u * 32);
  EXPECT_LE(few.nodes_matched, 10u * 8);
  EXPECT_LE(many.nodes_matched, 10u * 32);
  EXPECT_GE(many.views_read, 32u);
}

TEST(RolloutController, FailingAllTheTimeItWritesAHandfulOfTimesAMinute) {
  RolloutStage stage;
  stage.put_node("a", {"worker"});
  stage.refuse = [](std::string_view verb, const kube::Resource& resource) -> std::optional<Error> {
    if (verb == "patch" && resource == kube::core::kNode) return error(Code::kDenied, "nodes are not yours");
    return std::nullopt;
  };
  stage.start_controllers();
  ASSERT_TRUE(stage.run_until([&] { return stage.condition("worker", "Degraded").starts_with("True CannotWrite: "); }))
      << stage.condition("worker", "Degraded");
  EXPECT_NE(stage.condition("worker", "Degraded").find("nodes are not yours"), std::string::npos);
  stage.run_for(5min);
  const std::uint64_t before = stage.counting->writes();
  stage.run_for(10min);
  EXPECT_LE(stage.counting->writes() - before, 60u) << "in ten minutes";
  EXPECT_GE(stage.counting->writes() - before, 5u) << "and it does not give up";
  stage.refuse = nullptr;
  EXPECT_TRUE(stage.run_until([&] { return stage.targeted() == 1; }));
  EXPECT_TRUE(stage.run_until([&] { return stage.condition("worker", "Degraded").starts_with("False"); }));
}

TEST(RenderControllerFailing, AllTheTimeItWritesAHandfulOfTimesAMinuteAndSaysWhy) {
  RolloutStage stage;
  stage.refuse = [](std::string_view verb, const kube::Resource& resource) -> std::optional<Error> {
    if (verb == "create" && resource == api::kMachineConfig) return error(Code::kDenied, "configs are not yours");
    return std::nullopt;
  };
  stage.start_controllers();
  ASSERT_TRUE(stage.run_until([&] { return stage.render_degraded("worker").starts_with("True NotWritten: "); }))
      << stage.render_degraded("worker");
  EXPECT_NE(stage.render_degraded("worker").find("configs are not yours"), std::string::npos);
  stage.run_for(5min);
  const std::uint64_t before = stage.counting->writes();
  stage.run_for(10min);
  EXPECT_LE(stage.counting->writes() - before, 60u) << "in ten minutes";
  EXPECT_GE(stage.counting->writes() - before, 5u) << "and it does not give up";
  stage.refuse = nullptr;
  EXPECT_TRUE(stage.run_until([&] { return !stage.target("worker").empty(); }));
  EXPECT_TRUE(stage.run_until([&] { return stage.render_degraded("worker") == "False : "; }));
}

}  // namespace strake::simulation::rollout_controller_test
