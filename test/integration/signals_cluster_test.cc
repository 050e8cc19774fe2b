// Pools in trouble, on the real program: what kubectl, the log and the metrics show, and that it heals.
#include <gtest/gtest.h>

#include "api/kinds.h"
#include "codec/yaml.h"
#include "integration/signals_stage.h"
#include "support/strake_command.h"

namespace strake::test {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kPool = R"(apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: worker}
spec:
  machineConfigSelector: {matchLabels: {machineconfiguration.openshift.io/role: worker}}
  nodeSelector: {matchLabels: {node-role.kubernetes.io/worker: ""}}
)";

constexpr std::string_view kGoodConfig = R"(apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {name: 50-good, labels: {machineconfiguration.openshift.io/role: worker}}
spec: {config: {ignition: {version: 3.4.0}}}
)";

kube::Object object_of(std::string_view text) {
  const auto value = yaml::parse(text);
  EXPECT_TRUE(value.ok());
  return kube::Object(value.ok() ? *value : json::Value(json::Object{}));
}

/// A cluster with one pool and no nodes.
struct PoolStage : UpStage {
  PoolStage() {
    EXPECT_TRUE(api().create(api::kMachineConfigPool, object_of(kPool), {}, call()).ok());
    EXPECT_TRUE(api().create(api::kMachineConfig, object_of(kGoodConfig), {}, call()).ok());
  }
  Status patch_spec(std::string_view spec) {
    const auto value = yaml::parse(spec);
    const auto patched = api().patch(api::kMachineConfigPool, {"", "worker"}, kube::PatchType::kMerge,
                                     json::Object{{"spec", *value}}, {}, call());
    return patched.ok() ? Status() : Status(patched.error());
  }
  std::string plan() { return run_strake({"plan", "--kubeconfig", kubeconfig().string()}).stdout_bytes; }

  /// Every place where a person may look says it.
  void expect_said(const std::string& reason, const std::string& part) {
    EXPECT_TRUE(has_condition(api::kMachineConfigPool, "worker", "Degraded", "True", part)) << daemon().log();
    EXPECT_TRUE(has_event("MachineConfigPool", "worker", reason, part)) << daemon().log();
    EXPECT_TRUE(daemon().says({"WARNING", "pool=worker", reason, part})) << daemon().log();
    EXPECT_TRUE(metric("strake_pools_degraded 1"));
    EXPECT_TRUE(metric(fmt::format("strake_pool_troubles{{reason=\"{}\"}} 1", reason)));
    EXPECT_NE(plan().find(part), std::string::npos) << plan();
  }
  void expect_well() {
    EXPECT_TRUE(has_condition(api::kMachineConfigPool, "worker", "Degraded", "False", "")) << daemon().log();
    EXPECT_TRUE(metric("strake_pools_degraded 0"));
  }
};

TEST(SignalsOfPools, AMaxUnavailableThatIsNoNumberOfNodes) {
  for (const std::string bad : {"40 %", "-1"}) {
    PoolStage stage;
    const Status patched = stage.patch_spec(fmt::format("maxUnavailable: \"{}\"", bad));
    ASSERT_TRUE(patched.ok()) << patched.error().to_string();
    stage.expect_said("InvalidMaxUnavailable", bad);
    ASSERT_TRUE(stage.patch_spec("maxUnavailable: 40%").ok());
    stage.expect_well();
  }
}

TEST(SignalsOfPools, ANodeSelectorThatCannotBeEvaluated) {
  PoolStage stage;
  const Status refused = stage.patch_spec("nodeSelector: {matchExpressions: [{key: a, operator: Sideways}]}");
  ASSERT_FALSE(refused.ok()) << "the CRD names the operators";
  EXPECT_NE(refused.error().to_string().find("operator"), std::string::npos) << refused.error().to_string();
  ASSERT_TRUE(stage.patch_spec("nodeSelector: {matchExpressions: [{key: a, operator: In}]}").ok());
  stage.expect_said("InvalidNodeSelector", "elector");
  ASSERT_TRUE(stage.patch_spec("nodeSelector: {matchExpressions: null}").ok());
  stage.expect_well();
}

TEST(SignalsOfPools, AConfigThatCannotBeRendered) {
  PoolStage stage;
  const kube::Object bad = object_of(R"(apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {name: 99-bad, labels: {machineconfiguration.openshift.io/role: worker}}
spec: {config: {ignition: {version: 9.9.9}}}
)");
  ASSERT_TRUE(stage.api().create(api::kMachineConfig, bad, {}, stage.call()).ok());
  EXPECT_TRUE(stage.has_condition(api::kMachineConfigPool, "worker", "RenderDegraded", "True", ""));
  EXPECT_TRUE(stage.has_event("MachineConfigPool", "worker", "RenderRefused", "")) << stage.daemon().log();
  EXPECT_TRUE(stage.daemon().says({"WARNING", "controller=render", "object=worker"})) << stage.daemon().log();
  EXPECT_TRUE(stage.metric("strake_failing_objects{controller=\"render\"} 1"));
  ASSERT_TRUE(stage.api().remove(api::kMachineConfig, {"", "99-bad"}, {}, stage.call()).ok());
  EXPECT_TRUE(stage.has_condition(api::kMachineConfigPool, "worker", "RenderDegraded", "False", ""));
  EXPECT_TRUE(stage.metric("strake_failing_objects{controller=\"render\"} 0"));
}

}  // namespace
}  // namespace strake::test
