#include "rollout/plan.h"

#include <gtest/gtest.h>

#include "api/conditions.h"
#include "api/kinds.h"
#include "api/node_annotations.h"

namespace strake::rollout::plan_test {

using machineconfig::DisruptionClass;

/// A pool of nodes between configs "old" and "new" (another OS image).
class Fixture {
 public:
  Fixture() {
    pool = kube::Object(api::kMachineConfigPool, {"", "worker"});
    json::ensure(pool.json(), {"spec", "configuration", "name"}) = "new";
    specs["old"] = json::Object{{"osImageURL", "1"}};
    specs["new"] = json::Object{{"osImageURL", "2"}};
  }

  kube::Object& add(const std::string& name, const std::string& current, const std::string& desired,
                    const std::string& state, bool ready = true) {
    kube::Object node(kube::core::kNode, {"", name});
    if (!current.empty()) node.set_annotation(api::node_annotation::kCurrentConfig, current);
    if (!desired.empty()) node.set_annotation(api::node_annotation::kDesiredConfig, desired);
    if (!state.empty()) node.set_annotation(api::node_annotation::kState, state);
    json::ensure(node.json(), {"status", "conditions"}) =
        json::Array{json::Object{{"type", "Ready"}, {"status", ready ? "True" : "False"}}};
    json::ensure(node.json(), {"metadata", "creationTimestamp"}) = fmt::format("2026-01-01T00:00:{:02}Z", nodes.size());
    nodes.push_back(std::move(node));
    return nodes.back();
  }

  PoolPlan plan() const {
    PoolInput input{pool, nodes,
                    [this](const std::string& name) -> const json::Value* {
                      const auto found = specs.find(name);
                      return found == specs.end() ? nullptr : &found->second;
                    },
                    policy};
    auto planned = plan_pool(input);
    EXPECT_TRUE(planned.ok()) << (planned.ok() ? "" : planned.error().to_string());
    return *std::move(planned);
  }

  std::string actions() const {
    std::string text;
    for (const NodePlan& node : plan().nodes)
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", node.node.name, to_string(node.action));
    return text;
  }

  kube::Object pool;
  std::vector<kube::Object> nodes;
  std::map<std::string, json::Value> specs;
  machineconfig::DisruptionPolicy policy = machineconfig::default_disruption_policy();
};

TEST(RolloutPlan, LetsAsManyNodesGoAsMaxUnavailableAllows) {
  Fixture cluster;
  for (const char* name : {"a", "b", "c"}) cluster.add(name, "old", "old", "Done");
  EXPECT_EQ(cluster.actions(), "a=target b=wait c=wait");
  json::ensure(cluster.pool.json(), {"spec", "maxUnavailable"}) = 2;
  EXPECT_EQ(cluster.actions(), "a=target b=target c=wait");
  json::ensure(cluster.pool.json(), {"spec", "maxUnavailable"}) = "100%";
  EXPECT_EQ(cluster.actions(), "a=target b=target c=target");
}

TEST(RolloutPlan, ANodeAtWorkOrAwayTakesItsShare) {
  Fixture working;
  working.add("a", "old", "new", "Working");
  working.add("b", "old", "old", "Done");
  EXPECT_EQ(working.actions(), "a=updating b=wait");
  Fixture away;
  away.add("a", "old", "old", "Done", false);
  away.add("b", "old", "old", "Done");
  EXPECT_EQ(away.actions(), "a=wait b=wait");
  Fixture cordoned;
  json::ensure(cordoned.add("a", "new", "new", "Done").json(), {"spec", "unschedulable"}) = true;
  cordoned.add("b", "old", "old", "Done");
  EXPECT_EQ(cordoned.actions(), "a=current b=wait");
}

TEST(RolloutPlan, AFailingNodeAtTheTargetBlocksItsShareAndOneBehindMayBeTargetedAnew) {
  Fixture failing;
  failing.add("a", "old", "new", "Degraded");
  failing.add("b", "old", "old", "Done");
  EXPECT_EQ(failing.actions(), "a=failing b=wait");
  Fixture repaired;  // the pool moved on to a config that may be better
  repaired.add("a", "old", "broken", "Degraded");
  EXPECT_EQ(repaired.actions(), "a=target");
}

TEST(RolloutPlan, AWorkingNodeIsNotGivenAnotherGoal) {
  Fixture cluster;
  cluster.add("a", "old", "middle", "Working");
  json::ensure(cluster.pool.json(), {"spec", "maxUnavailable"}) = 3;
  EXPECT_EQ(cluster.actions(), "a=wait");
  EXPECT_EQ(cluster.plan().nodes[0].waits_for, "its update to middle to finish");
}

TEST(RolloutPlan, NewNodesNeitherWaitNorBlock) {
  Fixture cluster;
  cluster.add("a", "", "", "");
  cluster.add("b", "", "", "", false);
  cluster.add("c", "old", "old", "Done");
  EXPECT_EQ(cluster.actions(), "a=target b=target c=target");
  EXPECT_EQ(cluster.plan().nodes[0].consequence.disruption, DisruptionClass::kReboot);
}

TEST(RolloutPlan, PausedPoolsAndPoolsWithoutAConfigTargetNobody) {
  Fixture paused;
  paused.add("a", "old", "old", "Done");
  json::ensure(paused.pool.json(), {"spec", "paused"}) = true;
  EXPECT_EQ(paused.actions(), "a=wait");
  EXPECT_EQ(paused.plan().nodes[0].waits_for, "its pool, which is paused");
  Fixture unrendered;
  unrendered.add("a", "", "", "");
  json::ensure(unrendered.pool.json(), {"spec", "configuration", "name"}) = "";
  EXPECT_EQ(unrendered.actions(), "a=wait");
}

TEST(RolloutPlan, ANodeThatCannotFollowIsLeftAloneAndTakesNobodysTurn) {
  Fixture cluster;
  cluster.specs["other"] = json::Object{{"osImageURL", "1"}, {"fips", true}};
  cluster.add("a", "other", "other", "Done");
  cluster.add("b", "old", "old", "Done");
  EXPECT_EQ(cluster.actions(), "a=wait b=target");
  const PoolPlan plan = cluster.plan();
  EXPECT_EQ(plan.nodes[0].consequence.disruption, DisruptionClass::kReinstall);
  EXPECT_EQ(plan.nodes[0].waits_for,
            "a new installation, or another config: detected change to FIPS flag; refusing to modify FIPS on a running "
            "cluster");
}

TEST(RolloutPlan, TheClustersDisruptionPolicyDecidesTheClass) {
  Fixture cluster;
  cluster.specs["old"] = json::Object{{"config", json::Object{{"ignition", json::Object{{"version", "3.5.0"}}}}}};
  cluster.specs["new"] = cluster.specs["old"];
  json::ensure(cluster.specs["new"], {"config", "storage", "files"}) =
      json::Array{json::Object{{"path", "/etc/motd"}, {"contents", json::Object{{"source", "data:,x"}}}}};
  cluster.add("a", "old", "old", "Done");
  EXPECT_EQ(cluster.plan().nodes[0].consequence.disruption, DisruptionClass::kReboot);
  cluster.policy.files.push_back({"/etc/motd", {{machineconfig::ActionType::kNone, ""}}});
  EXPECT_EQ(cluster.plan().nodes[0].consequence.disruption, DisruptionClass::kNone);
}

TEST(RolloutPlan, WhatTheAgentCannotApplyIsNotSentToANodeNotEvenToANewOne) {
  Fixture cluster;
  cluster.specs["new"].get_object()["kernelType"] = "realtime";
  cluster.add("a", "", "", "");
  cluster.add("b", "old", "old", "Done");
  EXPECT_EQ(cluster.actions(), "a=wait b=wait");
  EXPECT_EQ(cluster.plan().nodes[1].waits_for,
            "another config, or another agent: this one cannot apply kernel type realtime");
}

TEST(RolloutPlan, ZonesFirstThenAge) {
  Fixture cluster;
  cluster.add("a", "old", "old", "Done");
  cluster.add("b", "old", "old", "Done").set_label(api::label::kZone, "z2");
  cluster.add("c", "old", "old", "Done").set_label(api::label::kZone, "z1");
  EXPECT_EQ(cluster.actions(), "a=wait b=wait c=target");
}

TEST(RolloutPlan, TargetPatchTouchesOnlyOurAnnotations) {
  kube::Object node(kube::core::kNode, {"", "a"});
  node.set_annotation("example.com/theirs", "1");
  EXPECT_EQ(
      json::write(target_patch(node, "new", DisruptionClass::kReboot)),
      R"({"metadata":{"annotations":{"machineconfiguration.openshift.io/desiredConfig":"new","strake.dev/planned-class":"reboot"}}})");
}

TEST(PoolStatus, CountsConditionsAndTheReachedConfig) {
  Fixture cluster;
  cluster.add("a", "new", "new", "Done");
  cluster.add("b", "old", "new", "Working");
  const std::chrono::system_clock::time_point now{};
  json::Value object = json::Object{{"status", updated_status(cluster.pool, cluster.plan(), now)}};
  EXPECT_EQ(json::find_int(object, {"status", "machineCount"}), 2);
  EXPECT_EQ(json::find_int(object, {"status", "updatedMachineCount"}), 1);
  EXPECT_EQ(json::find_int(object, {"status", "unavailableMachineCount"}), 1);
  EXPECT_TRUE(api::condition_is_true(object, "Updating"));
  EXPECT_FALSE(api::condition_is_true(object, "Updated"));
  EXPECT_EQ(json::find(object, {"status", "configuration"}), nullptr);

  cluster.nodes[1].set_annotation(api::node_annotation::kCurrentConfig, "new");
  cluster.nodes[1].set_annotation(api::node_annotation::kState, "Done");
  object = json::Object{{"status", updated_status(cluster.pool, cluster.plan(), now)}};
  EXPECT_TRUE(api::condition_is_true(object, "Updated"));
  EXPECT_EQ(json::find_string(object, {"status", "configuration", "name"}), "new");
}

TEST(PrimaryPool, MasterOverCustomOverWorker) {
  const auto pool = [](const std::string& name, const std::string& label) {
    kube::Object object(api::kMachineConfigPool, {"", name});
    json::ensure(object.json(), {"spec", "nodeSelector", "matchLabels", label}) = "";
    return object;
  };
  const std::vector<kube::Object> pools{pool("master", "m"), pool("worker", "w"), pool("infra", "i"), pool("gpu", "g")};
  const auto primary = [&](std::vector<std::string> labels) {
    kube::Object node(kube::core::kNode, {"", "n"});
    for (const std::string& label : labels) node.set_label(label, "");
    return primary_pool(node, pools);
  };
  EXPECT_EQ(*primary({"w"}), "worker");
  EXPECT_EQ(*primary({"w", "i"}), "infra");
  EXPECT_EQ(*primary({"m", "w", "i"}), "master");
  EXPECT_FALSE(primary({})->has_value());
  EXPECT_FALSE(primary({"i", "g"}).ok());
}

}  // namespace strake::rollout::plan_test
