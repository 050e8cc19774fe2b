// The template controller beside the render controller: when the gate opens, what it puts back, and where it ends when
// it is killed between any two of its calls, meets conflicts, or loses watches.
#include <gtest/gtest.h>

#include <algorithm>

#include "api/conditions.h"
#include "api/kinds.h"
#include "api/machine_config_pool.h"
#include "api/node_annotations.h"
#include "api/release_contents.h"
#include "codec/base64.h"
#include "machineconfig/generate/generated_config.h"
#include "machineconfig/template/template_controller.h"
#include "simulation/render_stage.h"

namespace strake::simulation::template_controller_test {

using namespace std::chrono_literals;

constexpr std::string_view kCluster = R"(apiVersion: v1
kind: Namespace
metadata: {name: openshift-machine-config-operator}
---
apiVersion: v1
kind: Namespace
metadata: {name: openshift-config}
---
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: worker}
spec:
  machineConfigSelector: {matchLabels: {machineconfiguration.openshift.io/role: worker}}
  nodeSelector: {matchLabels: {node-role.kubernetes.io/worker: ""}}
)";

/// A release whose OS image has these files; `name` is in everything it brings.
struct Release {
  std::string name;
  std::set<std::string> files{"/usr/bin/strake", "/usr/bin/kubelet", "/usr/bin/crio"};
};

struct TemplateStage : RenderStage {
  explicit TemplateStage(std::uint64_t seed = 1) : RenderStage(seed) { apply(kCluster); }

  void start(std::optional<std::uint64_t> calls = std::nullopt) {
    start_process(
        [this](kube::KubeApi& api, std::stop_token stop) {
          machineconfig::GeneratorOptions options;
          options.version = "1.0";
          options.on_report = [this](const machineconfig::GenerateReport& report) { reports.push_back(report); };
          machineconfig::TemplateController templates(simulation(), api, options);
          machineconfig::RenderOptions render_options;
          render_options.version = "1.0";
          machineconfig::RenderController render(simulation(), api, render_options);
          templates.start();
          render.start();
          (void)simulation().sleep(24h * 365, stop);
          render.stop();
          templates.stop();
        },
        calls);
  }

  /// The two objects of a publication, in its order; `between` runs when the first is there.
  void publish(const Release& release, const std::function<void()>& between = [] {}) {
    kube::Object controller_config(api::kControllerConfig, {"", std::string(api::kControllerConfigName)});
    controller_config.set_annotation(api::config_annotation::kGeneratedByVersion, "1.0");
    controller_config.set_annotation(api::config_annotation::kReleaseImageVersion, release.name);
    json::ensure(controller_config.json(), {"spec"}) =
        json::Object{{"releaseImage", image_of(release)},
                     {"baseOSContainerImage", "registry.example/os@sha256:" + std::string(64, release.name.back())}};
    apply_object(controller_config);
    between();
    api::ReleaseContents contents;
    contents.release_image = image_of(release);
    contents.release_version = release.name;
    contents.os_images = {api::OsImageFacts{"registry.example/os", release.files}};
    kube::Object map(kube::core::kConfigMap,
                     {std::string(api::kMachineConfigNamespace), std::string(api::kReleaseContentsName)});
    json::ensure(map.json(), {"data"}) = api::release_contents_data(contents);
    apply_object(map);
  }
  void apply_object(const kube::Object& object) { apply(json::write(object.json())); }

  kube::Object config(const std::string& name) {
    for (kube::Object& object : list(api::kMachineConfig)) {
      if (object.name() == name) return std::move(object);
    }
    return kube::Object();
  }
  std::optional<std::string> base_file(const std::string& name, std::string_view path) {
    const kube::Object found = config(name);
    if (found.name().empty()) return std::nullopt;
    return machineconfig::base_file({std::make_shared<const kube::Object>(found)}, path);
  }
  kube::Object controller_config() {
    const auto objects = list(api::kControllerConfig);
    return objects.empty() ? kube::Object() : objects.front();
  }
  std::string condition(std::string_view type) {
    const auto found = api::find_condition(controller_config().json(), type);
    if (!found) return "";
    return found->status == api::ConditionStatus::kTrue ? "True: " + found->message : "False";
  }
  bool is_rendered(const Release& release) {
    return !target("worker").empty() &&
           config(target("worker")).annotation(api::config_annotation::kReleaseImageVersion) == release.name;
  }

  static std::string image_of(const Release& release) {
    return "registry.example/release@sha256:" + std::string(64, release.name.back());
  }
  std::vector<machineconfig::GenerateReport> reports;
};

const Release kReleaseA{"4.21.a"};
const Release kReleaseB{"4.21.b", {"/usr/bin/strake", "/usr/bin/crio"}};

TEST(TemplateControllerSimulation, TheGateOpensWhenTheBaseConfigsOfTheReleaseAreThere) {
  TemplateStage stage;
  stage.start();
  stage.publish(kReleaseA, [&] {
    stage.run_for(30s);
    EXPECT_EQ(stage.target("worker"), "") << "half a release";
    EXPECT_NE(stage.condition("TemplateControllerRunning").find("True: ConfigMap"), std::string::npos);
  });
  ASSERT_TRUE(stage.run_until([&] { return stage.is_rendered(kReleaseA); })) << stage.render_degraded("worker");
  EXPECT_EQ(api::MachineConfigPoolView(stage.pool("worker").json()).target_sources(),
            (std::vector<std::string>{"00-worker", "01-worker-container-runtime", "01-worker-kubelet"}));
  EXPECT_NE(stage.condition("TemplateControllerCompleted").find("True: made 00-master"), std::string::npos);
  const std::string before = stage.store_version();
  stage.run_for(10min);
  EXPECT_EQ(stage.store_version(), before) << "nothing to do, nothing written";

  stage.publish(kReleaseB);
  ASSERT_TRUE(stage.run_until([&] { return stage.is_rendered(kReleaseB); })) << stage.render_degraded("worker");
  EXPECT_EQ(stage.config("01-worker-kubelet").name(), "") << "the new image has no kubelet";
}

TEST(TemplateControllerSimulation, HandEditsAreTakenBackAndTheClustersFilesFollow) {
  TemplateStage stage;
  stage.start();
  stage.publish(kReleaseA);
  ASSERT_TRUE(stage.run_until([&] { return stage.is_rendered(kReleaseA); }));
  const std::string target = stage.target("worker");
  stage.put_file_config("00-worker", "worker", "/etc/mine", "1");
  stage.remove_config("01-worker-kubelet");
  ASSERT_TRUE(stage.run_until(
      [&] { return !stage.base_file("00-worker", "/etc/mine") && !stage.config("01-worker-kubelet").name().empty(); }));
  stage.run_for(1min);
  EXPECT_EQ(stage.target("worker"), target);
  EXPECT_EQ(stage.rendered_names(), std::vector<std::string>{target}) << "nobody rendered what was in between";

  const std::string secret = R"({"auths":{"registry.example":{"auth":"eDp5"}}})";
  stage.apply(fmt::format(
      "{{apiVersion: v1, kind: Secret, metadata: {{name: pull-secret, namespace: openshift-config}}, type: Opaque, "
      "data: {{.dockerconfigjson: \"{}\"}}}}",
      codec::encode_base64(secret)));
  ASSERT_TRUE(stage.run_until([&] { return stage.target("worker") != target; }));
  EXPECT_EQ(stage.base_file("00-worker", "/var/lib/kubelet/config.json"), secret);
}

TEST(TemplateControllerSimulation, WithoutAnAgentNothingIsRenderedAndTheReasonIsSaid) {
  TemplateStage stage;
  stage.start();
  stage.publish({"4.21.c", {"/usr/bin/podman"}});
  ASSERT_TRUE(stage.run_until([&] { return stage.condition("TemplateControllerFailing").starts_with("True"); }));
  EXPECT_NE(stage.condition("TemplateControllerFailing").find("name one by digest in spec.agentImage"),
            std::string::npos);
  ASSERT_TRUE(stage.run_until([&] { return stage.render_degraded("worker").starts_with("True GateClosed"); }));
  EXPECT_NE(stage.render_degraded("worker").find("spec.agentImage"), std::string::npos)
      << "whoever looks at the pool is told: " << stage.render_degraded("worker");
  ASSERT_EQ(stage.reports.size(), 1u);
  EXPECT_EQ(stage.target("worker"), "");

  stage.apply(
      fmt::format("{{apiVersion: strake.dev/v1alpha1, kind: StrakeConfig, metadata: {{name: cluster}}, "
                  "spec: {{agentImage: \"registry.example/strake@sha256:{}\"}}}}",
                  std::string(64, 'a')));
  ASSERT_TRUE(stage.run_until([&] { return stage.is_rendered({"4.21.c"}); })) << stage.render_degraded("worker");
  EXPECT_EQ(stage.condition("TemplateControllerFailing"), "False");
  EXPECT_TRUE(stage.config(stage.target("worker")).annotation("strake.dev/agent-unit"));
}

TEST(TemplateControllerSimulation, KilledBeforeAnyOfItsCallsNobodyRendersHalfARelease) {
  std::set<std::string> whole;
  for (std::uint64_t killed_after = 0;; killed_after += 1 + killed_after / 10) {
    TemplateStage stage(killed_after + 1);
    stage.start();
    stage.publish(kReleaseA);
    ASSERT_TRUE(stage.run_until([&] { return stage.is_rendered(kReleaseA); }));
    whole.insert(stage.target("worker"));
    stage.start(killed_after);
    stage.publish(kReleaseB);
    stage.run_for(20s);
    const bool died = stage.controller_died();
    stage.start();
    ASSERT_TRUE(stage.run_until([&] { return stage.is_rendered(kReleaseB); })) << "killed after " << killed_after;
    whole.insert(stage.target("worker"));
    EXPECT_EQ(stage.rendered_names().size(), 2u) << "killed after " << killed_after;
    EXPECT_EQ(whole.size(), 2u) << "killed after " << killed_after;
    if (!died) break;
    ASSERT_LT(killed_after, 500u);
  }
}

TEST(TemplateControllerSimulation, ConflictsAndLostWatchesOnlyCostTime) {
  constexpr std::uint64_t kSeeds = 10;
  std::set<std::string> whole;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    TemplateStage stage(seed);
    stage.faults() = apistore::FaultPlan::rough();
    stage.start();
    stage.publish(kReleaseA);
    ASSERT_TRUE(stage.run_until([&] { return stage.is_rendered(kReleaseA); })) << "seed " << seed;
    stage.publish(kReleaseB, [&] { stage.run_for(std::chrono::milliseconds(seed * 100)); });
    ASSERT_TRUE(stage.run_until([&] { return stage.is_rendered(kReleaseB); })) << "seed " << seed;
    for (const std::string& name : stage.rendered_names()) whole.insert(name);
    EXPECT_EQ(whole.size(), 2u) << "seed " << seed;
  }
}

}  // namespace strake::simulation::template_controller_test
