#include "rollout/plan.h"

#include <gtest/gtest.h>

#include "api/conditions.h"
#include "api/kinds.h"
#include "api/machine_config.h"
#include "machineconfig/render/rendered_name.h"

namespace strake::rollout::plan_test {

using machineconfig::DisruptionClass;

/// A pool of nodes between configs "old" and "new" (another OS image); "new" stands for its real name everywhere.
class Fixture {
 public:
  Fixture() {
    set_spec("old", json::Object{{"osImageURL", "1"}});
    set_spec("new", json::Object{{"osImageURL", "2"}});
  }

  void set_spec(const std::string& name, json::Value spec) {
    specs[name] = spec;
    const std::string real = real_name(name);
    auto config = std::make_shared<kube::Object>(api::kMachineConfig, kube::ObjectKey{"", real});
    json::ensure(config->json(), {"metadata", "resourceVersion"}) = std::to_string(++version);
    config->json().get_object()["spec"] = std::move(spec);
    book.put(real, config);
    if (name == "new") json::ensure(pool.json(), {"spec", "configuration", "name"}) = real;
  }

  /// A target must carry the hash of its content; other names may be anything.
  std::string real_name(const std::string& name) const {
    return name == "new" ? *machineconfig::rendered_name("worker", specs.at("new")) : name;
  }

  api::NodeView& add(const std::string& name, const std::string& current, const std::string& desired,
                     api::NodeState state, bool ready = true) {
    api::NodeView node;
    node.name = name;
    node.current_config = current.empty() ? "" : real_name(current);
    node.desired_config = desired.empty() ? "" : real_name(desired);
    node.state = state;
    node.healthy = ready;
    node.created = fmt::format("2026-01-01T00:00:{:02}Z", nodes.size());
    nodes.push_back(std::make_shared<api::NodeView>(std::move(node)));
    return *nodes.back();
  }

  PoolPlan plan() const {
    std::vector<api::NodePtr> views;
    for (const auto& node : nodes) views.push_back(node);
    return plan_pool({.pool = pool,
                      .nodes = std::move(views),
                      .selector_trouble = selector_trouble,
                      .contested = contested,
                      .configs = book,
                      .policy_trouble = policy_trouble});
  }

  std::string actions() const {
    std::string text;
    for (const NodePlan& node : plan().nodes)
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", node.node->name, to_string(node.action));
    return text;
  }

  /// "Degraded True InvalidMaxUnavailable: message", or "" without the condition.
  std::string condition(std::string_view type) const {
    const json::Value object = json::Object{{"status", updated_status(pool, plan(), {})}};
    const auto found = api::find_condition(object, type);
    return found ? fmt::format("{} {}: {}", api::to_string(found->status), found->reason, found->message) : "";
  }

  kube::Object pool{api::kMachineConfigPool, {"", "worker"}};
  std::vector<std::shared_ptr<api::NodeView>> nodes;
  std::map<std::string, json::Value> specs;
  ConfigBook book;
  std::string selector_trouble;
  std::string policy_trouble;
  std::vector<StrayNode> contested;
  int version = 0;
};

TEST(RolloutPlan, LetsAsManyNodesGoAsMaxUnavailableAllows) {
  Fixture cluster;
  for (const char* name : {"a", "b", "c"}) cluster.add(name, "old", "old", api::NodeState::kDone);
  EXPECT_EQ(cluster.actions(), "a=target b=wait c=wait");
  json::ensure(cluster.pool.json(), {"spec", "maxUnavailable"}) = 2;
  EXPECT_EQ(cluster.actions(), "a=target b=target c=wait");
  json::ensure(cluster.pool.json(), {"spec", "maxUnavailable"}) = "100%";
  EXPECT_EQ(cluster.actions(), "a=target b=target c=target");
}

TEST(RolloutPlan, ANodeAtWorkOrAwayTakesItsShare) {
  Fixture working;
  working.add("a", "old", "new", api::NodeState::kWorking);
  working.add("b", "old", "old", api::NodeState::kDone);
  EXPECT_EQ(working.actions(), "a=updating b=wait");
  Fixture away;
  away.add("a", "old", "old", api::NodeState::kDone, false);
  away.add("b", "old", "old", api::NodeState::kDone);
  EXPECT_EQ(away.actions(), "a=wait b=wait");
  Fixture cordoned;
  cordoned.add("a", "new", "new", api::NodeState::kDone).schedulable = false;
  cordoned.add("b", "old", "old", api::NodeState::kDone);
  EXPECT_EQ(cordoned.actions(), "a=current b=wait");
}

TEST(RolloutPlan, AFailingNodeAtTheTargetBlocksItsShareAndOneBehindMayBeTargetedAnew) {
  Fixture failing;
  failing.add("a", "old", "new", api::NodeState::kDegraded);
  failing.add("b", "old", "old", api::NodeState::kDone);
  EXPECT_EQ(failing.actions(), "a=failing b=wait");
  Fixture repaired;  // the pool moved on to a config that may be better
  repaired.add("a", "old", "broken", api::NodeState::kDegraded);
  EXPECT_EQ(repaired.actions(), "a=target");
}

TEST(RolloutPlan, AWorkingNodeIsNotGivenAnotherGoal) {
  Fixture cluster;
  cluster.add("a", "old", "middle", api::NodeState::kWorking);
  json::ensure(cluster.pool.json(), {"spec", "maxUnavailable"}) = 3;
  EXPECT_EQ(cluster.actions(), "a=wait");
  EXPECT_EQ(cluster.plan().nodes[0].waits_for, "its update to middle to finish");
}

TEST(RolloutPlan, NewNodesNeitherWaitNorBlock) {
  Fixture cluster;
  cluster.add("a", "", "", api::NodeState::kAbsent);
  cluster.add("b", "", "", api::NodeState::kAbsent, false);
  cluster.add("c", "old", "old", api::NodeState::kDone);
  EXPECT_EQ(cluster.actions(), "a=target b=target c=target");
  EXPECT_EQ(cluster.plan().nodes[0].consequence->disruption, DisruptionClass::kReboot);
}

TEST(RolloutPlan, ANodeThatCannotFollowIsLeftAloneAndTakesNobodysTurn) {
  Fixture cluster;
  cluster.set_spec("other", json::Object{{"osImageURL", "1"}, {"fips", true}});
  cluster.add("a", "other", "other", api::NodeState::kDone);
  cluster.add("b", "old", "old", api::NodeState::kDone);
  EXPECT_EQ(cluster.actions(), "a=wait b=target");
  const PoolPlan plan = cluster.plan();
  EXPECT_EQ(plan.nodes[0].consequence->disruption, DisruptionClass::kReinstall);
  EXPECT_EQ(plan.nodes[0].waits_for,
            "a new installation, or another config: detected change to FIPS flag; refusing to modify FIPS on a running "
            "cluster");
  ASSERT_NE(plan.find(TroubleKind::kNodesCannotFollow), nullptr);
  EXPECT_TRUE(cluster.condition("Degraded").starts_with("True NodesCannotFollow: 1 nodes cannot follow to "))
      << cluster.condition("Degraded");
}

TEST(RolloutPlan, TheClustersDisruptionPolicyDecidesTheClass) {
  Fixture cluster;
  const json::Value base = json::Object{{"config", json::Object{{"ignition", json::Object{{"version", "3.5.0"}}}}}};
  json::Value more = base;
  json::ensure(more, {"config", "storage", "files"}) =
      json::Array{json::Object{{"path", "/etc/motd"}, {"contents", json::Object{{"source", "data:,x"}}}}};
  cluster.set_spec("old", base);
  cluster.set_spec("new", more);
  cluster.add("a", "old", "old", api::NodeState::kDone);
  EXPECT_EQ(cluster.plan().nodes[0].consequence->disruption, DisruptionClass::kReboot);
  machineconfig::DisruptionPolicy policy = machineconfig::default_disruption_policy();
  policy.files.push_back({"/etc/motd", {{machineconfig::ActionType::kNone, ""}}});
  cluster.book.set_policy(policy);
  EXPECT_EQ(cluster.plan().nodes[0].consequence->disruption, DisruptionClass::kNone)
      << "and what was found out under the old policy is forgotten";
}

TEST(RolloutPlan, WhatTheAgentCannotApplyIsNotSentToANodeNotEvenToANewOne) {
  Fixture cluster;
  cluster.set_spec("new", json::Object{{"osImageURL", "2"}, {"kernelType", "realtime"}});
  cluster.add("a", "", "", api::NodeState::kAbsent);
  cluster.add("b", "old", "old", api::NodeState::kDone);
  EXPECT_EQ(cluster.actions(), "a=wait b=wait");
  EXPECT_EQ(cluster.plan().nodes[1].waits_for,
            "another config, or another agent: this one cannot apply kernel type realtime");
  EXPECT_TRUE(cluster.condition("Updating").starts_with("False Stuck: ")) << cluster.condition("Updating");
}

TEST(RolloutPlan, ZonesFirstThenAge) {
  Fixture cluster;
  cluster.add("a", "old", "old", api::NodeState::kDone);
  cluster.add("b", "old", "old", api::NodeState::kDone).zone = "z2";
  cluster.add("c", "old", "old", api::NodeState::kDone).zone = "z1";
  EXPECT_EQ(cluster.actions(), "a=wait b=wait c=target");
}

TEST(RolloutPlan, TargetPatchTouchesOnlyOurAnnotations) {
  EXPECT_EQ(
      json::write(target_patch("new", DisruptionClass::kReboot)),
      R"({"metadata":{"annotations":{"machineconfiguration.openshift.io/desiredConfig":"new","strake.dev/planned-class":"reboot"}}})");
}

/// Every way a pool cannot get on, and that it says so everywhere it is looked for.
struct TroubleCase {
  const char* name;
  std::function<void(Fixture&)> spoil;
  TroubleKind kind;
  const char* actions;   ///< of a node that is behind, b, and a new one, n
  const char* degraded;  ///< how the condition begins
  const char* updating;
};

const TroubleCase kTroubleCases[] = {
    {"paused", [](Fixture& c) { json::ensure(c.pool.json(), {"spec", "paused"}) = true; }, TroubleKind::kPaused,
     "b=wait n=wait", "False : ", "False : Pool is paused; will not update to MachineConfig rendered-worker-"},
    {"nothing rendered", [](Fixture& c) { json::ensure(c.pool.json(), {"spec", "configuration", "name"}) = ""; },
     TroubleKind::kNotRendered, "b=wait n=wait",
     "False : ", "False NotRendered: no config was rendered for the pool yet"},
    {"no percentage", [](Fixture& c) { json::ensure(c.pool.json(), {"spec", "maxUnavailable"}) = "40 %"; },
     TroubleKind::kInvalidMaxUnavailable, "b=wait n=target",
     "True InvalidMaxUnavailable: spec.maxUnavailable is \"40 %\": write a number without quotes, or a percentage such "
     "as \"10%\"",
     "False InvalidMaxUnavailable: "},
    {"a negative limit", [](Fixture& c) { json::ensure(c.pool.json(), {"spec", "maxUnavailable"}) = -1; },
     TroubleKind::kInvalidMaxUnavailable, "b=wait n=target",
     "True InvalidMaxUnavailable: spec.maxUnavailable comes to -1 nodes, so none may ever be away",
     "False InvalidMaxUnavailable: "},
    {"a selector", [](Fixture& c) { c.selector_trouble = "spec.nodeSelector cannot be evaluated: x"; },
     TroubleKind::kInvalidNodeSelector, "b=wait n=wait",
     "True InvalidNodeSelector: spec.nodeSelector cannot be evaluated: x", "False InvalidNodeSelector: "},
    {"a refused render",
     [](Fixture& c) {
       api::set_condition(c.pool.json(),
                          {"RenderDegraded", api::ConditionStatus::kTrue, "RenderRefused", "bad file", ""}, {});
     },
     TroubleKind::kRenderFailed, "b=target n=target", "True RenderFailed: bad file", "True : "},
    {"a closed gate",
     [](Fixture& c) {
       api::set_condition(c.pool.json(), {"RenderDegraded", api::ConditionStatus::kFalse, "GateClosed", "waits", ""},
                          {});
     },
     TroubleKind::kRenderWaits, "b=target n=target", "False : ", "True : "},
    {"an ignored config",
     [](Fixture& c) {
       api::set_condition(c.pool.json(),
                          {"RenderDegraded", api::ConditionStatus::kFalse, "ConfigsIgnored", "KubeletConfig x", ""},
                          {});
     },
     TroubleKind::kConfigsIgnored, "b=target n=target", "False : ", "True : "},
    {"a missing target", [](Fixture& c) { c.book.put(c.real_name("new"), nullptr); }, TroubleKind::kTargetMissing,
     "b=wait n=wait", "True TargetMissing: MachineConfig rendered-worker-", "False TargetMissing: "},
    {"an edited target",
     [](Fixture& c) {
       auto edited = std::make_shared<kube::Object>(api::kMachineConfig, kube::ObjectKey{"", c.real_name("new")});
       edited->json().get_object()["spec"] = json::Object{{"osImageURL", "evil"}};
       c.book.put(c.real_name("new"), edited);
     },
     TroubleKind::kTargetEdited, "b=wait n=wait", "True TargetEdited: MachineConfig rendered-worker-",
     "False TargetEdited: "},
    {"an unreadable policy", [](Fixture& c) { c.policy_trouble = "MachineConfiguration cluster: x"; },
     TroubleKind::kPolicyUnreadable, "b=wait n=target",
     "True PolicyUnreadable: what a change costs cannot be told: MachineConfiguration cluster: x",
     "False PolicyUnreadable: "},
    {"a node of two pools", [](Fixture& c) { c.contested = {{"x", {"gpu", "worker2"}}}; }, TroubleKind::kContestedNodes,
     "b=target n=target",
     "True ContestedNodes: node x belongs to 2 custom pools (gpu, worker2) and is left alone; remove the labels of all "
     "but one",
     "True : "},
};

TEST(RolloutPlan, EveryWayAPoolCannotGetOnIsSaidInItsPlanAndItsConditions) {
  for (const TroubleCase& test : kTroubleCases) {
    Fixture cluster;
    cluster.add("b", "old", "old", api::NodeState::kDone);
    cluster.add("n", "", "", api::NodeState::kAbsent);
    test.spoil(cluster);
    const PoolPlan plan = cluster.plan();
    ASSERT_EQ(plan.troubles.size(), 1u) << test.name;
    EXPECT_EQ(plan.troubles[0].kind, test.kind) << test.name;
    EXPECT_EQ(cluster.actions(), test.actions) << test.name;
    EXPECT_TRUE(cluster.condition("Degraded").starts_with(test.degraded))
        << test.name << ": " << cluster.condition("Degraded");
    EXPECT_TRUE(cluster.condition("Updating").starts_with(test.updating))
        << test.name << ": " << cluster.condition("Updating");
    EXPECT_TRUE(cluster.condition("Updated").starts_with("False ")) << test.name;
    for (const NodePlan& node : plan.nodes) {
      EXPECT_EQ(node.waits_for.empty(), node.action != NodeAction::kWait) << test.name << " " << node.node->name;
    }
  }
}

TEST(PoolStatus, APoolIsUpdatedOnlyWhenTheNodesAtHandAreAllThereIsToIt) {
  for (const TroubleCase& test : kTroubleCases) {
    Fixture cluster;
    cluster.add("a", "new", "new", api::NodeState::kDone);
    test.spoil(cluster);
    const bool updated = cluster.condition("Updated").starts_with("True");
    EXPECT_EQ(updated, !denies_updated(test.kind)) << test.name << ": " << cluster.condition("Updated");
  }
  Fixture empty;
  EXPECT_TRUE(empty.condition("Updated").starts_with("True")) << "as the platform has it";
}

TEST(PoolStatus, SaysWhatIsTrueOfEachNodeWhileTheyMove) {
  Fixture cluster;
  cluster.add("a", "new", "new", api::NodeState::kDone);
  cluster.add("b", "old", "new", api::NodeState::kWorking);
  cluster.add("c", "old", "old", api::NodeState::kDone);
  EXPECT_EQ(cluster.condition("Updating"),
            fmt::format("True : 1 of 3 nodes are updated to MachineConfig {}, 1 are updating, 0 are failing, 1 wait; c "
                        "waits for its turn: 1 of 3 nodes may be away at once",
                        cluster.real_name("new")));
}

TEST(PoolStatus, CountsConditionsAndTheReachedConfig) {
  Fixture cluster;
  cluster.add("a", "new", "new", api::NodeState::kDone);
  api::NodeView& late = cluster.add("b", "old", "new", api::NodeState::kWorking);
  json::Value object = json::Object{{"status", updated_status(cluster.pool, cluster.plan(), {})}};
  EXPECT_EQ(api::MachineConfigPoolView(object).counts(), (api::PoolCounts{2, 1, 1, 1, 0}));
  EXPECT_TRUE(api::condition_is_true(object, "Updating"));
  EXPECT_FALSE(api::condition_is_true(object, "Updated"));
  EXPECT_EQ(api::MachineConfigPoolView(object).reached(), "");

  late.current_config = cluster.real_name("new");
  late.state = api::NodeState::kDone;
  object = json::Object{{"status", updated_status(cluster.pool, cluster.plan(), {})}};
  EXPECT_TRUE(api::condition_is_true(object, "Updated"));
  EXPECT_EQ(api::MachineConfigPoolView(object).reached(), cluster.real_name("new"));
}

TEST(PoolStatus, NamesAFewDegradedNodesAndCountsTheRest) {
  Fixture cluster;
  for (int i = 0; i < 12; ++i) {
    cluster.add(fmt::format("n{:02}", i), "old", "new", api::NodeState::kDegraded).reason = "disk full";
  }
  const std::string degraded = cluster.condition("NodeDegraded");
  EXPECT_TRUE(
      degraded.starts_with("True 12 nodes are reporting degraded status on sync: Node n00 is reporting: "
                           "\"disk full\", "))
      << degraded;
  EXPECT_TRUE(degraded.ends_with("Node n09 is reporting: \"disk full\" and 2 more")) << degraded;
}

}  // namespace strake::rollout::plan_test
