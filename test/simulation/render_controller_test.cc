#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "api/kinds.h"
#include "api/machine_config_pool.h"
#include "simulation/render_stage.h"

namespace strake::simulation::render_controller_test {

using namespace std::chrono_literals;

constexpr std::string_view kPools = R"(apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: worker, labels: {pools.operator.machineconfiguration.openshift.io/worker: ""}}
spec:
  machineConfigSelector: {matchLabels: {machineconfiguration.openshift.io/role: worker}}
  nodeSelector: {matchLabels: {node-role.kubernetes.io/worker: ""}}
---
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: infra}
spec:
  machineConfigSelector:
    matchExpressions: [{key: machineconfiguration.openshift.io/role, operator: In, values: [worker, infra]}]
  nodeSelector: {matchLabels: {node-role.kubernetes.io/infra: ""}}
)";

machineconfig::RenderOptions own() { return {.version = "1.0"}; }

/// A cluster with two pools and a config for each, all rendered.
struct RenderedStage : RenderStage {
  explicit RenderedStage(std::uint64_t seed = 1) : RenderStage(seed) {
    apply(kPools);
    put_file_config("50-worker", "worker", "/etc/w", "1");
    put_file_config("50-infra", "infra", "/etc/i", "1");
  }
  bool is_settled() {
    const auto names = rendered_names();
    return !target("worker").empty() && !target("infra").empty() && std::ranges::count(names, target("worker")) == 1 &&
           std::ranges::count(names, target("infra")) == 1;
  }
};

TEST(RenderControllerSimulation, AChangeThatComesInManyPiecesIsRenderedOnce) {
  RenderStage stage(1);
  stage.apply(kPools);
  stage.start_controller(own());
  for (int i = 0; i < 30; ++i) {
    stage.put_file_config(fmt::format("50-worker-{:02}", i), "worker", fmt::format("/etc/w{}", i), "1");
  }
  ASSERT_TRUE(stage.run_until([&] { return !stage.target("worker").empty() && !stage.target("infra").empty(); }));
  stage.run_for(1min);
  EXPECT_EQ(stage.rendered_names().size(), 2u) << "one for each pool";
  const kube::Object pool = stage.pool("worker");
  EXPECT_EQ(api::MachineConfigPoolView(pool.json()).target_sources().size(), 30u);
}

TEST(RenderControllerSimulation, KilledBeforeAnyOfItsCallsItEndsWhereItWouldHaveAnyway) {
  std::string worker_target;
  std::string infra_target;
  std::uint64_t lives = 0;
  for (std::uint64_t killed_after = 0;; ++killed_after) {
    RenderedStage stage(killed_after + 1);
    stage.start_controller(own(), killed_after);
    bool dangling = false;
    const auto points_nowhere = [&] {
      const auto names = stage.rendered_names();
      for (const char* pool : {"worker", "infra"}) {
        const std::string target = stage.target(pool);
        if (!target.empty() && std::ranges::find(names, target) == names.end()) dangling = true;
      }
      return stage.controller_died();
    };
    const bool died =
        stage.run_until([&] { return points_nowhere() || stage.is_settled(); }) && stage.controller_died();
    EXPECT_FALSE(dangling) << "a pool pointed at a config that does not exist, killed after " << killed_after;
    stage.start_controller(own());
    ASSERT_TRUE(stage.run_until([&] { return stage.is_settled(); })) << "killed after " << killed_after;
    stage.run_for(1min);
    EXPECT_EQ(stage.rendered_names().size(), 2u) << "killed after " << killed_after;
    EXPECT_EQ(stage.render_degraded("worker"), "False : ");
    if (worker_target.empty()) {
      worker_target = stage.target("worker");
      infra_target = stage.target("infra");
    }
    EXPECT_EQ(stage.target("worker"), worker_target);
    EXPECT_EQ(stage.target("infra"), infra_target);
    ++lives;
    if (!died) break;
    ASSERT_LT(killed_after, 500u);
  }
  // Six lists, six watches, and at least a create and two patches for each pool.
  EXPECT_GT(lives, 15u);
}

TEST(RenderControllerSimulation, AClosedGateIsNamedAndBecomesTroubleOnlyWhenItLasts) {
  RenderedStage stage;
  stage.apply(R"(apiVersion: machineconfiguration.openshift.io/v1
kind: KubeletConfig
metadata: {name: small}
spec:
  machineConfigPoolSelector: {matchLabels: {pools.operator.machineconfiguration.openshift.io/worker: ""}}
  kubeletConfig: {maxPods: 100}
)");
  stage.start_controller(own());
  ASSERT_TRUE(stage.run_until([&] { return !stage.render_degraded("worker").empty(); }));
  EXPECT_EQ(stage.render_degraded("worker"),
            "False GateClosed: Waiting to render: KubeletConfig small is not processed yet: generation 1, observed 0");
  EXPECT_EQ(stage.target("worker"), "");
  ASSERT_TRUE(stage.run_until([&] { return !stage.target("infra").empty(); })) << "the gate is not infra's";
  stage.run_for(2min);
  EXPECT_TRUE(stage.render_degraded("worker").starts_with("True GateClosed: ")) << stage.render_degraded("worker");
  stage.apply(R"(apiVersion: machineconfiguration.openshift.io/v1
kind: KubeletConfig
metadata: {name: small}
status:
  observedGeneration: 1
  conditions: [{type: Success, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z"}]
)");
  ASSERT_TRUE(stage.run_until([&] { return !stage.target("worker").empty(); }));
  stage.run_for(1s);
  EXPECT_EQ(stage.render_degraded("worker"), "False : ");
}

TEST(RenderControllerSimulation, ARefusedConfigKeepsTheOldOneAndIsNamed) {
  RenderedStage stage;
  stage.start_controller(own());
  ASSERT_TRUE(stage.run_until([&] { return stage.is_settled(); }));
  const std::string before = stage.target("worker");
  stage.put_file_config("60-bad", "worker", "relative/path", "x");
  ASSERT_TRUE(stage.run_until([&] { return stage.render_degraded("worker").starts_with("True"); }));
  EXPECT_TRUE(
      stage.render_degraded("worker").starts_with("True RenderRefused: Failed to render configuration for pool "
                                                  "worker: "))
      << stage.render_degraded("worker");
  EXPECT_NE(stage.render_degraded("worker").find("60-bad"), std::string::npos) << stage.render_degraded("worker");
  EXPECT_EQ(stage.target("worker"), before);
  stage.remove_config("60-bad");
  ASSERT_TRUE(stage.run_until([&] { return stage.render_degraded("worker") == "False : "; }));
  EXPECT_EQ(stage.target("worker"), before);
}

TEST(RenderControllerSimulation, WhatNodesCannotFollowIsRefusedUntilTheAdministratorAllowsIt) {
  RenderedStage stage;
  stage.start_controller(own());
  ASSERT_TRUE(stage.run_until([&] { return stage.is_settled(); }));
  const std::string before = stage.target("worker");
  stage.apply(R"(apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {name: 70-disks, labels: {machineconfiguration.openshift.io/role: worker}}
spec:
  config:
    ignition: {version: 3.4.0}
    storage: {disks: [{device: /dev/sdb, wipeTable: true}]}
)");
  ASSERT_TRUE(stage.run_until([&] { return stage.render_degraded("worker").starts_with("True"); }));
  EXPECT_TRUE(stage.render_degraded("worker").starts_with("True Irreconcilable: ")) << stage.render_degraded("worker");
  EXPECT_NE(stage.render_degraded("worker").find("70-disks"), std::string::npos) << stage.render_degraded("worker");
  EXPECT_NE(stage.render_degraded("worker").find("ignition disks section contains changes"), std::string::npos);
  EXPECT_EQ(stage.target("worker"), before);
  stage.apply(R"(apiVersion: operator.openshift.io/v1
kind: MachineConfiguration
metadata: {name: cluster}
spec: {managementState: Managed, irreconcilableValidationOverrides: {storage: [Disks]}}
)");
  ASSERT_TRUE(stage.run_until([&] { return stage.target("worker") != before; }));
  stage.run_for(1s);
  EXPECT_EQ(stage.render_degraded("worker"), "False : ");
}

TEST(RenderControllerSimulation, ObservingWritesNothingAndTellsWhetherTheTwoAgree) {
  RenderedStage stage;
  stage.start_controller(own());
  ASSERT_TRUE(stage.run_until([&] { return stage.is_settled(); }));
  stage.run_for(1min);
  stage.stop_controller();
  stage.put_file_config("60-infra", "infra", "/etc/new", "2");

  std::vector<machineconfig::Agreement> seen;
  machineconfig::RenderOptions observing = own();
  observing.mode = api::Mode::kObserve;
  observing.on_agreement = [&](const machineconfig::Agreement& agreement) { seen.push_back(agreement); };
  const std::string before = stage.store_version();
  stage.start_controller(observing);
  ASSERT_TRUE(stage.run_until([&] { return seen.size() == 2; }));
  stage.run_for(10min);
  EXPECT_EQ(stage.store_version(), before) << "not one write";
  ASSERT_EQ(seen.size(), 2u) << "nothing new is not told again";
  std::ranges::sort(seen, {}, &machineconfig::Agreement::pool);
  EXPECT_EQ(seen[0].pool, "infra");
  EXPECT_FALSE(seen[0].agrees());
  EXPECT_TRUE(seen[0].ours.starts_with("rendered-infra-"));
  EXPECT_TRUE(seen[1].agrees()) << seen[1].reason;
  EXPECT_EQ(seen[1].ours, stage.target("worker"));
}

TEST(RenderControllerSimulation, RenderedConfigsNobodyUsesGoAndThoseInUseStay) {
  RenderedStage stage;
  machineconfig::RenderOptions options = own();
  options.rendered_configs_kept = 3;
  stage.start_controller(options);
  ASSERT_TRUE(stage.run_until([&] { return stage.is_settled(); }));
  const std::string first = stage.target("worker");
  stage.apply(fmt::format(R"(apiVersion: v1
kind: Node
metadata:
  name: behind
  annotations: {{machineconfiguration.openshift.io/currentConfig: {}}}
)",
                          first));
  std::vector<std::string> targets;
  for (int i = 2; i < 9; ++i) {
    const std::string before = stage.target("worker");
    stage.put_file_config("50-worker", "worker", "/etc/w", std::to_string(i));
    ASSERT_TRUE(stage.run_until([&] { return stage.target("worker") != before; }));
    targets.push_back(stage.target("worker"));
    stage.run_for(2s);  // creation times count in seconds
  }
  stage.run_for(1min);
  std::set<std::string> kept;
  for (const std::string& name : stage.rendered_names()) {
    if (name.starts_with("rendered-worker-")) kept.insert(name);
  }
  std::set<std::string> expected(targets.end() - 3, targets.end());
  expected.insert(first);  // a node still runs it
  EXPECT_EQ(kept, expected);
}

}  // namespace strake::simulation::render_controller_test
