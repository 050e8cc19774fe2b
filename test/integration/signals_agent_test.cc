// `strake agent` in trouble, on the real program: its exit code or log line with what to do, the Node, the metrics, and
// that it heals.
#include <gtest/gtest.h>

#include <fstream>

#include "api/kinds.h"
#include "api/node.h"
#include "base/fd.h"
#include "codec/yaml.h"
#include "integration/signals_stage.h"
#include "support/strake_command.h"

namespace strake::test {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kWorkerPool = R"(apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: worker}
spec:
  machineConfigSelector: {matchLabels: {machineconfiguration.openshift.io/role: worker}}
  nodeSelector: {matchLabels: {node-role.kubernetes.io/worker: ""}}
)";
const std::string kOsRecord = "var/lib/strake/sandbox-os.json";
const std::string kServiceRecord = "var/lib/strake/sandbox-services.json";

kube::Object from_yaml(std::string_view text) {
  const auto value = yaml::parse(text);
  EXPECT_TRUE(value.ok());
  return kube::Object(value.ok() ? *value : json::Value(json::Object{}));
}

kube::Object file_config(const std::string& name, const std::string& path) {
  return from_yaml(fmt::format(R"(apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {{name: {}, labels: {{machineconfiguration.openshift.io/role: worker}}}}
spec: {{config: {{ignition: {{version: 3.4.0}}, storage: {{files: [{{path: {}, contents: {{source: "data:,x"}}}}]}}}}}}
)",
                               name, path));
}

/// A cluster with one pool, and a folder that stands for a machine.
struct AgentStage : UpStage {
  AgentStage() {
    std::filesystem::create_directories(root());
    EXPECT_TRUE(api().create(api::kMachineConfigPool, from_yaml(kWorkerPool), {}, call()).ok());
    EXPECT_TRUE(api().create(api::kMachineConfig, file_config("50-base", "/etc/base"), {}, call()).ok());
  }

  std::filesystem::path root() const { return folder() / "machine"; }
  void put(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root() / path).parent_path());
    std::ofstream(root() / path) << text;
  }
  std::vector<std::string> agent_arguments(std::vector<std::string> more) const {
    std::vector<std::string> arguments{
        "agent", "--node", "n1", "--root", root().string(), "--kubeconfig", kubeconfig().string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  std::unique_ptr<Daemon> start_agent() {
    return std::make_unique<Daemon>(agent_arguments({"--metrics-listen", "127.0.0.1:0"}),
                                    folder() / fmt::format("agent-{}.log", ++agents_));
  }
  api::NodeView node() {
    const auto read = api().get(kube::core::kNode, {"", "n1"}, call());
    return read.ok() ? api::node_view(*read) : api::NodeView();
  }
  bool gets_done() {
    return comes_true([&] { return node().done(); });
  }
  void add(const kube::Object& config) {
    const std::string before = node().desired_config;
    EXPECT_TRUE(api().create(api::kMachineConfig, config, {}, call()).ok());
    EXPECT_TRUE(comes_true([&] { return node().desired_config != before; }));
  }
  void take_away(const std::string& config) {
    EXPECT_TRUE(api().remove(api::kMachineConfig, {"", config}, {}, call()).ok());
  }

  /// Every place where a person may look says it.
  void expect_degraded(Daemon& agent, const std::string& doing, const std::string& part) {
    EXPECT_TRUE(agent.says({"WARNING the agent of a node failed", "node=n1", "doing=" + doing, part})) << agent.log();
    EXPECT_TRUE(comes_true([&] { return node().state == api::NodeState::kDegraded; })) << agent.log();
    EXPECT_NE(node().reason.find(part), std::string::npos) << node().reason;
    EXPECT_TRUE(comes_true([&] {
      return agent.get("/metrics").find(fmt::format("doing=\"{}\"", doing)) != std::string::npos;
    })) << agent.get("/metrics");
    EXPECT_TRUE(has_condition(api::kMachineConfigPool, "worker", "NodeDegraded", "True", part)) << daemon().log();
    EXPECT_TRUE(metric("strake_pools_degraded 1"));
  }
  void expect_healed(Daemon& agent) {
    EXPECT_TRUE(gets_done()) << agent.log();
    EXPECT_EQ(node().reason, "");
    EXPECT_TRUE(agent.says({"INFO", "the agent of a node is well again", "node=n1"})) << agent.log();
    EXPECT_TRUE(agent.metric("strake_agent_failures_in_a_row{node=\"n1\"} 0")) << agent.get("/metrics");
    EXPECT_TRUE(has_condition(api::kMachineConfigPool, "worker", "Degraded", "False", "")) << daemon().log();
  }

 private:
  int agents_ = 0;
};

TEST(SignalsOfAgents, AFileWhereAFolderIsNeeded) {
  AgentStage stage;
  stage.put("etc/app", "somebody's");
  ASSERT_TRUE(stage.api().create(api::kMachineConfig, file_config("60-app", "/etc/app/x"), {}, stage.call()).ok());
  const auto agent = stage.start_agent();
  stage.expect_degraded(*agent, "planning", "/etc/app is a file, and a folder is needed there; move it away");
  stage.take_away("60-app");
  stage.expect_healed(*agent);
  EXPECT_EQ(agent->stop(), 0) << agent->log();
  EXPECT_EQ(*read_file(stage.root() / "etc/app", 100), "somebody's");
}

TEST(SignalsOfAgents, AServiceThatFailsAfterADryRunThatNamedIt) {
  AgentStage stage;
  auto agent = stage.start_agent();
  ASSERT_TRUE(stage.gets_done()) << agent->log();
  const std::string first = stage.node().current_config;
  ASSERT_EQ(agent->stop(), 0);
  stage.add(file_config("60-policy", "/etc/containers/policy.json"));

  const ProcessOutput plan = run_strake(stage.agent_arguments({"--dry-run"}));
  EXPECT_EQ(plan.exit.exit_code, 0) << plan.stderr_bytes;
  EXPECT_EQ(plan.stdout_bytes, fmt::format("node n1: from {} to {}\n"
                                           "  reload: file /etc/containers/policy.json added\n"
                                           "    1. make folder /etc/containers\n"
                                           "    2. write /etc/containers/policy.json (0644, 1 bytes)\n"
                                           "    3. reload crio.service\n",
                                           first, stage.node().desired_config));
  EXPECT_FALSE(std::filesystem::exists(stage.root() / "etc/containers"));
  EXPECT_EQ(stage.node().current_config, first);
  const ProcessOutput cluster = run_strake({"plan", "--kubeconfig", stage.kubeconfig().string()});
  EXPECT_NE(cluster.stdout_bytes.find("reload: file /etc/containers/policy.json added; then Reload crio.service"),
            std::string::npos)
      << cluster.stdout_bytes;

  stage.put(kServiceRecord, R"({"failing":["crio.service"]})");
  agent = stage.start_agent();
  stage.expect_degraded(*agent, "applying", "reload crio.service");
  EXPECT_TRUE(comes_true([&] { return !std::filesystem::exists(stage.root() / "etc/containers"); })) << "undone";
  stage.put(kServiceRecord, "{}");
  stage.expect_healed(*agent);
  EXPECT_EQ(stage.node().executed_class, "reload");
  EXPECT_EQ(agent->stop(), 0);
}

TEST(SignalsOfAgents, ADryRunSaysWhatStandsInTheWay) {
  AgentStage stage;
  const ProcessOutput no_node = run_strake(stage.agent_arguments({"--dry-run"}));
  EXPECT_EQ(no_node.exit.exit_code, 3) << no_node.stderr_bytes;
  EXPECT_NE(no_node.stderr_bytes.find("reading node n1"), std::string::npos) << no_node.stderr_bytes;
  kube::ClusterAccess nowhere = stage.access();
  nowhere.server = "https://127.0.0.1:1";
  const ProcessOutput dead = run_strake({"agent", "--dry-run", "--node", "n1", "--root", stage.root().string(),
                                         "--kubeconfig", stage.write_kubeconfig("nowhere", nowhere).string()});
  EXPECT_EQ(dead.exit.exit_code, 4) << dead.stderr_bytes;
  EXPECT_TRUE(std::filesystem::is_empty(stage.root()));
}

TEST(SignalsOfAgents, AMachineThatDoesNotComeUpEndsTheProgramAndIsNotReady) {
  AgentStage stage;
  stage.put(kOsRecord, "{ half a record");
  const ProcessOutput damaged = run_strake(stage.agent_arguments({}));
  EXPECT_EQ(damaged.exit.exit_code, 1) << damaged.stderr_bytes;
  EXPECT_NE(damaged.stderr_bytes.find("/" + kOsRecord), std::string::npos) << damaged.stderr_bytes;
  EXPECT_NE(damaged.stderr_bytes.find("is damaged"), std::string::npos) << damaged.stderr_bytes;
  EXPECT_NE(damaged.stderr_bytes.find("delete the machine's folder to have it installed anew"), std::string::npos);
  EXPECT_TRUE(stage.has_condition(kube::core::kNode, "n1", "Ready", "False", "is damaged"));

  // Nothing can be written there, whoever one is.
  const ProcessOutput read_only =
      run_strake({"agent", "--node", "n2", "--root", "/proc", "--kubeconfig", stage.kubeconfig().string()});
  EXPECT_EQ(read_only.exit.exit_code, 1) << read_only.stderr_bytes;
  EXPECT_NE(read_only.stderr_bytes.find("writing the sandbox OS record"), std::string::npos) << read_only.stderr_bytes;
  EXPECT_TRUE(stage.has_condition(kube::core::kNode, "n2", "Ready", "False", "writing the sandbox OS record"));
}

TEST(SignalsOfAgents, AServerThatIsAwayOrRefusesIsSaidWithWhatToDo) {
  AgentStage stage;
  kube::ClusterAccess nowhere = stage.access();
  nowhere.server = "https://127.0.0.1:1";
  struct Case {
    std::string node;
    std::filesystem::path kubeconfig;
    std::string cause;
    std::string advice;
    std::unique_ptr<Daemon> agent{};
  };
  Case cases[] = {
      {"dead", stage.write_kubeconfig("nowhere", nowhere), "Failed to connect", "check that the API server runs"},
      {"expired", stage.kubeconfig_for("system:admin", -24h), "expired", "renew the certificate or token"},
      {"denied", stage.kubeconfig_for("nobody", 24h), "nobody", "apply deploy/rbac"},
  };
  for (Case& each : cases) {
    each.agent = std::make_unique<Daemon>(
        std::vector<std::string>{"agent", "--node", each.node, "--root", stage.root().string(), "--kubeconfig",
                                 each.kubeconfig.string(), "--metrics-listen", "127.0.0.1:0"},
        stage.folder() / (each.node + ".log"));
    // One machine each: they share nothing but the folder's record.
    EXPECT_TRUE(each.agent->says({"WARNING the agent of a node failed", "node=" + each.node, each.cause, each.advice}))
        << each.agent->log();
    EXPECT_TRUE(each.agent->metric(fmt::format("strake_agent_failures_total{{")));
    EXPECT_TRUE(each.agent->get("/readyz").starts_with("503 ")) << each.agent->get("/readyz");
    EXPECT_TRUE(each.agent->alive()) << "it waits for the trouble to end";
    EXPECT_EQ(each.agent->stop(), 0) << each.agent->log();
  }
}

TEST(SignalsOfAgents, AMachineOfStrakeUpThatDoesNotComeUp) {
  UpStage up({"--nodes", "1"});
  ASSERT_TRUE(comes_true([&] { return up.has_condition(kube::core::kNode, "master-0", "Ready", "True", ""); }));
  ASSERT_EQ(up.daemon().stop(), 0);
  std::ofstream(up.state() / "nodes/master-0" / kOsRecord) << "{";
  const std::string address = up.access().server.substr(up.access().server.find("//") + 2);
  Daemon again({"up", "--state", up.state().string(), "--listen", address, "--config-listen", "none", "--nodes", "1"},
               up.folder() / "again.log");
  EXPECT_TRUE(again.says({"WARNING the agent of a node failed", "node=master-0", "doing=starting", "is damaged"}))
      << again.log();
  EXPECT_TRUE(up.has_condition(kube::core::kNode, "master-0", "Ready", "False", "is damaged"));
  EXPECT_TRUE(up.metric("strake_agent_failures_total{doing=\"starting\",node=\"master-0\"}"));
}

TEST(SignalsOfPools, AClosedGateIsSaidUntilItOpens) {
  AgentStage stage;
  kube::Object config(api::kControllerConfig, {"", std::string(api::kControllerConfigName)});
  json::ensure(config.json(), {"spec", "releaseImage"}) = "registry.example/release:1";
  ASSERT_TRUE(comes_true(
      [&] { return stage.has_condition(api::kMachineConfigPool, "worker", "RenderDegraded", "False", ""); }));
  ASSERT_TRUE(stage.api().create(api::kControllerConfig, config, {}, stage.call()).ok());
  ASSERT_TRUE(stage.api().create(api::kMachineConfig, file_config("60-late", "/etc/late"), {}, stage.call()).ok());
  const std::string part = "is being written: generation 1, observed 0";
  EXPECT_TRUE(stage.has_condition(api::kMachineConfigPool, "worker", "RenderDegraded", "False", part))
      << stage.daemon().log();
  EXPECT_TRUE(
      stage.daemon().says({"INFO", "a pool does not get on by itself", "pool=worker", "reason=RenderWaits", part}))
      << stage.daemon().log();
  EXPECT_TRUE(stage.metric("strake_pool_troubles{reason=\"RenderWaits\"} 1"));
  const ProcessOutput plan = run_strake({"plan", "--kubeconfig", stage.kubeconfig().string()});
  EXPECT_NE(plan.stdout_bytes.find("RenderWaits: "), std::string::npos) << plan.stdout_bytes;
  EXPECT_NE(plan.stdout_bytes.find(part), std::string::npos) << plan.stdout_bytes;
  ASSERT_TRUE(stage.api().remove(api::kControllerConfig, config.key(), {}, stage.call()).ok());
  EXPECT_TRUE(stage.daemon().says({"INFO", "a pool gets on again", "pool=worker"})) << stage.daemon().log();
  EXPECT_TRUE(stage.metric("strake_pool_troubles{reason=\"RenderWaits\"} 0"));
}

}  // namespace
}  // namespace strake::test
