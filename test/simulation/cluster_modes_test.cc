// How far the controllers act: beside another manager they look and write nothing, and they follow when that changes.
#include "controlplane/cluster_modes.h"

#include <gtest/gtest.h>

#include "api/kinds.h"
#include "controlplane/controllers.h"
#include "simulation/render_stage.h"

namespace strake::simulation::cluster_modes_test {

using namespace std::chrono_literals;
using api::Mode;
using controlplane::ClusterModes;

TEST(ClusterModes, WhatIsSetCountsElseWhetherAnotherManagerIsThere) {
  EXPECT_EQ(*controlplane::decide_modes(nullptr, false), (ClusterModes{Mode::kOwn, Mode::kOwn, Mode::kOwn}));
  EXPECT_EQ(*controlplane::decide_modes(nullptr, true), (ClusterModes{Mode::kObserve, Mode::kObserve, Mode::kObserve}));
  kube::Object config(api::kStrakeConfig, {"", "cluster"});
  api::StrakeConfigEdit(config.json()).set_mode(controlplane::kRenderCapability, Mode::kOwn);
  EXPECT_EQ(*controlplane::decide_modes(&config, true), (ClusterModes{Mode::kOwn, Mode::kObserve, Mode::kObserve}));
  json::ensure(config.json(), {"spec", "modes", "rollout"}) = "perhaps";
  EXPECT_EQ(controlplane::decide_modes(&config, true).error().code(), Code::kInvalidArgument) << "guessing could write";
}

struct ModesStage : RenderStage {
  ModesStage() : RenderStage(1) {
    apply(R"(apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: worker}
spec:
  machineConfigSelector: {matchLabels: {machineconfiguration.openshift.io/role: worker}}
  nodeSelector: {matchLabels: {node-role.kubernetes.io/worker: ""}}
)");
    put_file_config("50-worker", "worker", "/etc/w", "1");
  }
  void start_controllers() {
    start_process([this](kube::KubeApi& api, std::stop_token stop) {
      controlplane::ControllersOptions options;
      options.identity = "test";
      options.version = "0.1.0";
      options.on_modes = [this](const ClusterModes& modes) { seen.push_back(modes); };
      options.on_agreement = [this](const machineconfig::Agreement& agreement) { agreements.push_back(agreement); };
      controlplane::run_controllers(simulation(), api, options, stop);
    });
  }
  bool lease_exists() { return exists(kube::core::kLease, {std::string(api::kStrakeNamespace), "strake-controller"}); }

  std::vector<ClusterModes> seen;
  std::vector<machineconfig::Agreement> agreements;
};

constexpr std::string_view kClusterOperator = R"(apiVersion: config.openshift.io/v1
kind: ClusterOperator
metadata: {name: machine-config}
spec: {}
)";

TEST(ClusterModes, WithoutAnotherManagerTheControllersActUnderALease) {
  ModesStage stage;
  stage.start_controllers();
  ASSERT_TRUE(stage.run_until([&] { return !stage.target("worker").empty(); }));
  EXPECT_TRUE(stage.lease_exists());
}

TEST(ClusterModes, BesideAnOperatorNothingIsWrittenNotEvenALease) {
  ModesStage stage;
  stage.apply(kClusterOperator);
  // The operator makes MachineConfigs of these.
  stage.apply(R"(apiVersion: machineconfiguration.openshift.io/v1
kind: ContainerRuntimeConfig
metadata: {name: limits}
spec:
  machineConfigPoolSelector: {matchLabels: {pools.operator.machineconfiguration.openshift.io/master: ""}}
  containerRuntimeConfig: {pidsLimit: 2048}
---
apiVersion: config.openshift.io/v1
kind: ImageDigestMirrorSet
metadata: {name: mirrors}
spec: {imageDigestMirrors: [{source: quay.io/x, mirrors: [mirror.example/x]}]}
)");
  const std::string before = stage.store_version();
  stage.start_controllers();
  ASSERT_TRUE(stage.run_until([&] { return !stage.agreements.empty(); }));
  stage.run_for(10min);
  EXPECT_EQ(stage.store_version(), before);
  EXPECT_FALSE(stage.lease_exists());
  EXPECT_TRUE(stage.agreements.front().ours.starts_with("rendered-worker-"));
  EXPECT_FALSE(stage.agreements.front().agrees()) << "the pool has no config yet";
}

TEST(ClusterModes, AChangeIsFollowedWhileTheControllersRun) {
  ModesStage stage;
  stage.apply(kClusterOperator);
  stage.start_controllers();
  ASSERT_TRUE(stage.run_until([&] { return !stage.agreements.empty(); }));
  stage.apply(R"(apiVersion: strake.dev/v1alpha1
kind: StrakeConfig
metadata: {name: cluster}
spec: {modes: {render: own}}
)");
  ASSERT_TRUE(stage.run_until([&] { return !stage.target("worker").empty(); }));
  EXPECT_EQ(stage.seen.back(), (ClusterModes{Mode::kOwn, Mode::kObserve, Mode::kObserve}));
}

TEST(ClusterModes, AnOperatorThatHoldsALeaseCountsToo) {
  ModesStage stage;
  stage.apply(R"(apiVersion: v1
kind: Namespace
metadata: {name: openshift-machine-config-operator}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: machine-config-controller, namespace: openshift-machine-config-operator}
spec: {holderIdentity: somebody}
)");
  stage.start_controllers();
  ASSERT_TRUE(stage.run_until([&] { return !stage.agreements.empty(); }));
  stage.run_for(1min);
  EXPECT_EQ(stage.target("worker"), "");
}

}  // namespace strake::simulation::cluster_modes_test
