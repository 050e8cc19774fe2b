// A node that was taken over, on the real program: what its agent's credentials are good for, and what its annotations
// do to others.
#include <gtest/gtest.h>

#include <filesystem>

#include "api/kinds.h"
#include "api/node.h"
#include "codec/yaml.h"
#include "integration/signals_stage.h"
#include "support/strake_command.h"

namespace strake::test {
namespace {

using namespace std::chrono_literals;

kube::Object parsed_yaml(const std::string& text) {
  const auto value = yaml::parse(text);
  EXPECT_TRUE(value.ok());
  return kube::Object(value.ok() ? *value : json::Value(json::Object{}));
}

/// A cluster with a pool and a config for each role.
struct HarmStage : UpStage {
  using UpStage::UpStage;

  void add_pool(const std::string& role) {
    const auto created = api().create(api::kMachineConfigPool,
                                      parsed_yaml(fmt::format(R"(apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {{name: {0}}}
spec:
  machineConfigSelector: {{matchLabels: {{machineconfiguration.openshift.io/role: {0}}}}}
  nodeSelector: {{matchLabels: {{node-role.kubernetes.io/{0}: ""}}}}
)",
                                                              role)),
                                      {}, call());
    EXPECT_TRUE(created.ok()) << created.error().to_string();
    add_config("50-" + role, role, "/etc/" + role);
  }
  void add_config(const std::string& name, const std::string& role, const std::string& path) {
    const auto created = api().create(api::kMachineConfig,
                                      parsed_yaml(fmt::format(R"(apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {{name: {}, labels: {{machineconfiguration.openshift.io/role: {}}}}}
spec: {{config: {{ignition: {{version: 3.4.0}}, storage: {{files: [{{path: {}, contents: {{source: "data:,x"}}}}]}}}}}}
)",
                                                              name, role, path)),
                                      {}, call());
    EXPECT_TRUE(created.ok()) << created.error().to_string();
  }
  void add_node(const std::string& name, const std::string& role) {
    kube::Object node(kube::core::kNode, {"", name});
    node.set_label("node-role.kubernetes.io/" + role, "");
    EXPECT_TRUE(api().create(kube::core::kNode, node, {}, call()).ok());
  }
  api::NodeView node(const std::string& name) {
    const auto read = api().get(kube::core::kNode, {"", name}, call());
    return read.ok() ? api::node_view(*read) : api::NodeView();
  }
  /// The node runs another config than `before`.
  bool moves_on(const std::string& name, const std::string& before) {
    return comes_true([&] {
      const api::NodeView now = node(name);
      return now.done() && now.current_config != before;
    });
  }
};

TEST(AgentProgram, WorksWithAnAgentsRightsAlone) {
  HarmStage stage;
  stage.add_pool("worker");
  stage.add_node("n1", "worker");
  const auto agent_of = [&](const std::string& name) {
    const std::filesystem::path root = stage.folder() / ("machine-" + name);
    std::filesystem::create_directories(root);
    const auto kubeconfig = stage.kubeconfig_for("strake:agent:" + name, 24h, {"strake:agents"});
    return std::make_unique<Daemon>(
        std::vector<std::string>{"agent", "--node", name, "--root", root.string(), "--kubeconfig", kubeconfig.string()},
        stage.folder() / ("agent-" + name + ".log"));
  };
  const auto agent = agent_of("n1");
  ASSERT_TRUE(stage.moves_on("n1", "")) << agent->log();
  const std::string first = stage.node("n1").current_config;
  stage.add_config("60-more", "worker", "/etc/more");
  EXPECT_TRUE(stage.moves_on("n1", first)) << agent->log();
  EXPECT_TRUE(std::filesystem::exists(stage.folder() / "machine-n1/etc/more"));
  EXPECT_EQ(agent->log().find("forbidden"), std::string::npos) << agent->log();
  // Who may not read what configs hold is told what a plan needs.
  for (const std::vector<std::string>& groups :
       {std::vector<std::string>{"strake:viewers"}, {"strake:viewers", "strake:config-viewers"}}) {
    const auto kubeconfig = stage.kubeconfig_for(fmt::format("ann{}", groups.size()), 24h, groups);
    const ProcessOutput plan = run_strake({"plan", "--kubeconfig", kubeconfig.string()});
    EXPECT_EQ(plan.exit.exit_code, groups.size() == 2 ? 0 : 1) << plan.stdout_bytes << plan.stderr_bytes;
    EXPECT_EQ(plan.stderr_bytes.find("the role config-viewer may read") != std::string::npos, groups.size() == 1)
        << plan.stderr_bytes;
  }
  // The server makes Nodes, never an agent.
  const auto stranger = agent_of("n2");
  EXPECT_TRUE(stranger->says({"WARNING", "node n2 does not exist, and an agent may not make it"})) << stranger->log();
}

TEST(HostileNode, HarmsNeitherThePlanNorOtherPools) {
  HarmStage stage({"--nodes", "1"});  // master-0
  stage.add_pool("master");
  stage.add_pool("worker");
  stage.add_node("evil", "worker");
  ASSERT_TRUE(stage.moves_on("master-0", "")) << stage.daemon().log();
  namespace mark = api::node_annotation;
  const std::vector<std::string_view> keys = {mark::kCurrentConfig, mark::kDesiredConfig, mark::kState,
                                              mark::kReason,        mark::kPlannedClass,  mark::kExecutedClass,
                                              mark::kDesiredDrain,  mark::kCurrentImage};
  const std::vector<std::string> values = {
      "..",     "../../../api/v1/secrets", "\x1b[2J\x07\r\n",     "\xe2\x80\xae evil",
      "{\"a\"", std::string(200'000, 'x'), std::string(100, '\n')};
  for (const std::string& value : values) {
    json::Object annotations;
    for (const std::string_view key : keys) {
      const bool too_many = value.size() > 10'000 && key != mark::kReason;
      annotations[key] = too_many ? json::Value(nullptr) : json::Value(value);
    }
    const json::Value patch = json::Object{{"metadata", json::Object{{"annotations", std::move(annotations)}}}};
    const auto written =
        stage.api().patch(kube::core::kNode, {"", "evil"}, kube::PatchType::kMerge, patch, {}, stage.call());
    ASSERT_TRUE(written.ok()) << written.error().to_string();
    for (const std::string format : {"text", "json"}) {
      const ProcessOutput plan = run_strake({"plan", "--kubeconfig", stage.kubeconfig().string(), "-o", format});
      EXPECT_EQ(plan.exit.exit_code, 0) << plan.stderr_bytes;
      EXPECT_NE(plan.stdout_bytes.find("evil"), std::string::npos);
      EXPECT_LT(plan.stdout_bytes.size(), 20'000u);
      for (const char* control : {"\x1b", "\x07", "\r", "\xe2\x80\xae"}) {
        EXPECT_EQ(plan.stdout_bytes.find(control), std::string::npos) << format;
      }
    }
    EXPECT_TRUE(stage.daemon().alive());
  }
  const std::string before = stage.node("master-0").current_config;
  stage.add_config("60-after", "master", "/etc/after");
  EXPECT_TRUE(stage.moves_on("master-0", before)) << stage.daemon().log();
  EXPECT_TRUE(stage.has_condition(api::kMachineConfigPool, "master", "Updated", "True", ""));
  EXPECT_LT(stage.daemon().log().size(), 100'000u);
  EXPECT_EQ(stage.daemon().log().find('\x1b'), std::string::npos);
}

TEST(HostileConfig, ThatNamesTheAgentsFilesIsNotRendered) {
  HarmStage stage({"--nodes", "1"});
  stage.add_pool("master");
  ASSERT_TRUE(stage.moves_on("master-0", "")) << stage.daemon().log();
  stage.add_config("99-evil", "master", "/etc/..//var/lib/strake/agent-journal.json/");
  EXPECT_TRUE(stage.has_condition(api::kMachineConfigPool, "master", "RenderDegraded", "True",
                                  "MachineConfig 99-evil: spec.config: storage.files[0].path: "))
      << stage.daemon().log();
  EXPECT_TRUE(stage.node("master-0").done());
}

}  // namespace
}  // namespace strake::test
