// The generator controller beside the render controller: what it writes, what it leaves, and where it ends when it is
// killed between any two of its calls, meets conflicts, or loses watches.
#include <gtest/gtest.h>

#include <algorithm>

#include "api/kinds.h"
#include "api/machine_config.h"
#include "api/machine_config_pool.h"
#include "api/node_annotations.h"
#include "machineconfig/generate/generator_controller.h"
#include "simulation/counting_api.h"
#include "simulation/render_stage.h"
#include "simulation/seeds.h"

namespace strake::simulation::generator_controller_test {

using namespace std::chrono_literals;

constexpr std::string_view kCluster = R"(apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: worker, labels: {pools.operator.machineconfiguration.openshift.io/worker: ""}}
spec:
  machineConfigSelector: {matchLabels: {machineconfiguration.openshift.io/role: worker}}
  nodeSelector: {matchLabels: {node-role.kubernetes.io/worker: ""}}
---
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: 01-worker-kubelet
  labels: {machineconfiguration.openshift.io/role: worker}
  annotations: {machineconfiguration.openshift.io/generated-by-controller-version: "1.0"}
spec:
  config:
    ignition: {version: 3.4.0}
    storage:
      files:
      - path: /etc/kubernetes/kubelet.conf
        contents: {source: "data:,kind%3A%20KubeletConfiguration%0AapiVersion%3A%20kubelet.config.k8s.io%2Fv1beta1%0A"}
)";

constexpr std::string_view kSources = R"(apiVersion: machineconfiguration.openshift.io/v1
kind: KubeletConfig
metadata: {name: small}
spec:
  machineConfigPoolSelector: {matchLabels: {pools.operator.machineconfiguration.openshift.io/worker: ""}}
  kubeletConfig: {maxPods: 100}
---
apiVersion: machineconfiguration.openshift.io/v1
kind: ContainerRuntimeConfig
metadata: {name: limits}
spec:
  machineConfigPoolSelector: {matchLabels: {pools.operator.machineconfiguration.openshift.io/worker: ""}}
  containerRuntimeConfig: {pidsLimit: 2048}
---
apiVersion: config.openshift.io/v1
kind: ImageDigestMirrorSet
metadata: {name: mirrors}
spec: {imageDigestMirrors: [{source: quay.io/x, mirrors: [mirror.example/x]}]}
)";

constexpr const char* kKubelet = "99-worker-generated-kubelet";
constexpr const char* kRuntime = "99-worker-generated-containerruntime";
constexpr const char* kRegistries = "99-worker-generated-registries";

struct GeneratorStage : RenderStage {
  explicit GeneratorStage(std::uint64_t seed = 1) : RenderStage(seed) { apply(kCluster); }

  /// Both controllers as a control plane runs them; counts what the generator does.
  void start(std::optional<std::uint64_t> calls = std::nullopt, std::string version = "1.0") {
    start_process(
        [this, version](kube::KubeApi& api, std::stop_token stop) {
          CountingApi counted(api);
          counted.refuse = [this](std::string_view, const kube::Resource&) {
            ++writes;
            return std::optional<Error>();
          };
          machineconfig::GeneratorOptions options;
          options.version = version;
          options.on_report = [this](const machineconfig::GenerateReport& report) { reports.push_back(report); };
          machineconfig::GeneratorController generator(simulation(), counted, options);
          machineconfig::RenderOptions render_options;
          render_options.version = version;
          render_options.generators_processed = true;
          machineconfig::RenderController render(simulation(), api, render_options);
          generator.start();
          render.start();
          (void)simulation().sleep(24h * 365, stop);
          render.stop();
          generator.stop();
        },
        calls);
  }

  kube::Object find(const kube::Resource& resource, const std::string& name) {
    for (kube::Object& object : list(resource)) {
      if (object.name() == name) return std::move(object);
    }
    return kube::Object();
  }
  bool has_config(const char* name) { return exists(api::kMachineConfig, {"", name}); }
  /// "True", "False: why", or "" while nobody has looked.
  std::string accepted(const kube::Resource& resource, const std::string& name) {
    const kube::Object object = find(resource, name);
    if (json::find_int(object.json(), {"status", "observedGeneration"}) != object.generation()) return "";
    const auto condition = api::find_condition(object.json(), "Accepted");
    if (!condition) return "";
    return condition->status == api::ConditionStatus::kTrue ? "True" : "False: " + condition->message;
  }
  std::string contents(const std::string& config, std::string_view path) {
    const kube::Object found = find(api::kMachineConfig, config);
    return machineconfig::base_file({std::make_shared<const kube::Object>([&] {
                                      kube::Object renamed(found.json());
                                      json::ensure(renamed.json(), {"metadata", "name"}) = "01-" + config;
                                      return renamed;
                                    }())},
                                    path)
        .value_or("");
  }
  /// Everything generated, and in the pool's rendered config.
  bool is_settled() {
    const auto sources = api::MachineConfigPoolView(pool("worker").json()).target_sources();
    return std::ranges::all_of(std::array{kKubelet, kRuntime, kRegistries},
                               [&](const char* name) {
                                 return has_config(name) && std::ranges::find(sources, name) != sources.end();
                               }) &&
           accepted(api::kKubeletConfig, "small") == "True" &&
           accepted(api::kContainerRuntimeConfig, "limits") == "True";
  }

  std::uint64_t writes = 0;
  std::vector<machineconfig::GenerateReport> reports;
};

TEST(GeneratorControllerSimulation, SourcesBecomeMachineConfigsAndAreRenderedAtOnce) {
  GeneratorStage stage;
  stage.apply(kSources);
  stage.start();
  ASSERT_TRUE(stage.run_until([&] { return stage.is_settled(); }));
  EXPECT_NE(stage.contents(kKubelet, "/etc/kubernetes/kubelet.conf").find("maxPods: 100"), std::string::npos);
  EXPECT_EQ(stage.rendered_names().size(), 1u) << "no pool was rendered without what it had to wait for";
  const kube::Object kubelet = stage.find(api::kKubeletConfig, "small");
  EXPECT_EQ(kubelet.finalizers(), std::vector<std::string>{kKubelet});
  EXPECT_EQ(kubelet.annotation(api::config_annotation::kConfigNameSuffix), "");
  EXPECT_EQ(stage.writes, 3u + 2u * 2u) << "three MachineConfigs; number and status of two";
  stage.run_for(20min);
  EXPECT_EQ(stage.writes, 3u + 2u * 2u) << "what is settled costs no write";
  EXPECT_TRUE(stage.reports.empty()) << "and is no news";

  stage.apply(R"(apiVersion: machineconfiguration.openshift.io/v1
kind: KubeletConfig
metadata: {name: small}
spec: {kubeletConfig: {maxPods: 200}}
)");
  const std::string before = stage.target("worker");
  ASSERT_TRUE(stage.run_until([&] { return stage.target("worker") != before; }));
  stage.run_for(1min);
  EXPECT_EQ(stage.rendered_names().size(), 2u) << "one change, one new config";
  EXPECT_EQ(stage.writes, 3u + 2u * 2u + 2u) << "one write for each object that changed: MachineConfig and status";
}

TEST(GeneratorControllerSimulation, HandEditsAreTakenBackAndDeletedOnesComeAgain) {
  GeneratorStage stage;
  stage.apply(kSources);
  stage.start();
  ASSERT_TRUE(stage.run_until([&] { return stage.is_settled(); }));
  const std::string before = json::write_canonical(*api::spec_of(stage.find(api::kMachineConfig, kKubelet)));
  stage.apply(fmt::format(R"(apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {{name: {}, labels: {{machineconfiguration.openshift.io/role: nobody}}}}
spec:
  kernelArguments: [quiet]
  config: {{systemd: {{units: [{{name: x.service, enabled: false}}]}}, storage: {{files: []}}}}
)",
                          kKubelet));
  ASSERT_TRUE(stage.run_until([&] {
    const kube::Object config = stage.find(api::kMachineConfig, kKubelet);
    return config.label(api::label::kRole) == "worker" && json::write_canonical(*api::spec_of(config)) == before;
  })) << json::write(stage.find(api::kMachineConfig, kKubelet).json());
  stage.remove_config(kRuntime);
  ASSERT_TRUE(stage.run_until([&] { return stage.has_config(kRuntime); }));
}

TEST(GeneratorControllerSimulation, DeletedSourcesTakeTheirMachineConfigsAlong) {
  GeneratorStage stage;
  stage.apply(kSources);
  stage.start();
  ASSERT_TRUE(stage.run_until([&] { return stage.is_settled(); }));
  auto task = stage.simulation().spawn("admin", [&](std::stop_token stop) {
    const kube::Call call{stop, std::nullopt};
    (void)stage.admin().remove(api::kKubeletConfig, {"", "small"}, {}, call);
    (void)stage.admin().remove(api::kImageDigestMirrorSet, {"", "mirrors"}, {}, call);
  });
  bool too_early = false;
  ASSERT_TRUE(stage.run_until([&] {
    const bool gone = !stage.exists(api::kKubeletConfig, {"", "small"});
    if (gone && stage.has_config(kKubelet)) too_early = true;
    return gone && !stage.has_config(kRegistries);
  }));
  task.join();
  EXPECT_FALSE(too_early) << "the finalizer holds it until its MachineConfig is gone";
  stage.run_for(1min);
  EXPECT_TRUE(stage.has_config(kRuntime));
  EXPECT_EQ(api::MachineConfigPoolView(stage.pool("worker").json()).target_sources().size(), 2u);
}

TEST(GeneratorControllerSimulation, WhatIsRefusedIsSaidAndWhatWasMadeBeforeStays) {
  GeneratorStage stage;
  stage.apply(kSources);
  stage.start();
  ASSERT_TRUE(stage.run_until([&] { return stage.is_settled(); }));
  const std::string before = stage.target("worker");
  stage.apply(R"(apiVersion: machineconfiguration.openshift.io/v1
kind: KubeletConfig
metadata: {name: small}
spec: {kubeletConfig: {clusterDomain: x}}
---
apiVersion: config.openshift.io/v1
kind: Image
metadata: {name: cluster}
spec: {registrySources: {allowedRegistries: [a.example], blockedRegistries: [b.example]}}
)");
  ASSERT_TRUE(stage.run_until([&] { return stage.accepted(api::kKubeletConfig, "small").starts_with("False: "); }));
  EXPECT_NE(stage.accepted(api::kKubeletConfig, "small").find("spec.kubeletConfig.clusterDomain"), std::string::npos);
  const auto conditions =
      json::find(stage.find(api::kKubeletConfig, "small").json(), {"status", "conditions"})->get_array();
  ASSERT_EQ(conditions.size(), 2u);
  EXPECT_EQ(json::find_string(conditions[1], {"type"}), "Failure");
  EXPECT_EQ(json::find_string(conditions[1], {"status"}), "False");
  stage.run_for(2min);
  EXPECT_TRUE(stage.has_config(kKubelet));
  EXPECT_TRUE(stage.has_config(kRegistries));
  EXPECT_EQ(stage.target("worker"), before);
  EXPECT_NE(stage.render_degraded("worker").find("KubeletConfig small failed"), std::string::npos)
      << stage.render_degraded("worker");
  ASSERT_EQ(stage.reports.size(), 2u) << "each once";
  stage.apply(R"(apiVersion: machineconfiguration.openshift.io/v1
kind: KubeletConfig
metadata: {name: small}
spec: {kubeletConfig: {clusterDomain: null}}
)");
  ASSERT_TRUE(stage.run_until([&] { return stage.is_settled() && stage.render_degraded("worker") == "False : "; }));
  EXPECT_EQ(stage.target("worker"), before) << "the same settings, the same name";
}

TEST(GeneratorControllerSimulation, ANewVersionMarksWhatItFindsAndRendersTheSame) {
  GeneratorStage stage;
  stage.apply(kSources);
  stage.start();
  ASSERT_TRUE(stage.run_until([&] { return stage.is_settled(); }));
  const std::string before = stage.target("worker");
  stage.stop_controller();
  stage.apply(R"(apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: 01-worker-kubelet
  annotations: {machineconfiguration.openshift.io/generated-by-controller-version: "2.0"}
)");
  stage.start(std::nullopt, "2.0");
  ASSERT_TRUE(stage.run_until([&] {
    return stage.find(api::kMachineConfig, kRegistries).annotation(api::config_annotation::kGeneratedByController) ==
               "2.0" &&
           stage.render_degraded("worker") == "False : ";
  }));
  EXPECT_EQ(stage.target("worker"), before);
}

TEST(GeneratorControllerSimulation, KilledBeforeAnyOfItsCallsItEndsWhereItWouldHaveAnyway) {
  std::string target;
  for (std::uint64_t killed_after = 0;; killed_after += 1 + killed_after / 12) {
    GeneratorStage stage(killed_after + 1);
    stage.apply(kSources);
    stage.start(killed_after);
    const bool died =
        stage.run_until([&] { return stage.controller_died() || stage.is_settled(); }) && stage.controller_died();
    stage.start();
    ASSERT_TRUE(stage.run_until([&] { return stage.is_settled(); })) << "killed after " << killed_after;
    EXPECT_EQ(stage.rendered_names().size(), 1u) << "killed after " << killed_after;
    if (target.empty()) target = stage.target("worker");
    EXPECT_EQ(stage.target("worker"), target) << "killed after " << killed_after;
    if (!died) break;
    ASSERT_LT(killed_after, 500u);
  }
}

TEST(GeneratorControllerSimulation, ConflictsAndLostWatchesOnlyCostTime) {
  constexpr std::uint64_t kSeeds = 12;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    GeneratorStage stage(seed);
    stage.faults() = apistore::FaultPlan::rough();
    stage.start();
    stage.apply(kSources);
    stage.run_for(std::chrono::milliseconds(seed * 100));
    // Somebody else writes to the same objects meanwhile.
    stage.apply(R"(apiVersion: machineconfiguration.openshift.io/v1
kind: KubeletConfig
metadata: {name: small, labels: {team: "1"}}
spec: {kubeletConfig: {maxPods: 300}}
)");
    ASSERT_TRUE(stage.run_until([&] {
      return stage.is_settled() &&
             stage.contents(kKubelet, "/etc/kubernetes/kubelet.conf").find("maxPods: 300") != std::string::npos;
    })) << "seed "
        << seed;
    const kube::Object kubelet = stage.find(api::kKubeletConfig, "small");
    EXPECT_EQ(kubelet.label("team"), "1") << "seed " << seed;
    EXPECT_EQ(kubelet.finalizers(), std::vector<std::string>{kKubelet}) << "seed " << seed;
    auto task = stage.simulation().spawn("admin", [&](std::stop_token stop) {
      (void)stage.admin().remove(api::kKubeletConfig, {"", "small"}, {}, {stop, std::nullopt});
    });
    EXPECT_TRUE(stage.run_until([&] {
      return !stage.exists(api::kKubeletConfig, {"", "small"}) && !stage.has_config(kKubelet);
    })) << "seed "
        << seed;
    task.join();
  }
}

}  // namespace strake::simulation::generator_controller_test
