#include "agent/plan.h"

#include <gtest/gtest.h>

#include "agent/agent.h"
#include "api/kinds.h"
#include "machineconfig/rendered_name.h"
#include "osbackend/sandbox_backend.h"

namespace strake::agent::plan_test {

using machineconfig::DisruptionClass;

kube::Object rendered(std::string os_image, const std::vector<std::string>& paths) {
  json::Array files;
  for (const std::string& path : paths)
    files.push_back(json::Object{{"path", path}, {"contents", json::Object{{"source", "data:,x"}}}});
  json::Value spec = json::Object{{"osImageURL", os_image},
                                  {"kernelArguments", json::Array{}},
                                  {"config", json::Object{{"ignition", json::Object{{"version", "3.5.0"}}},
                                                          {"storage", json::Object{{"files", std::move(files)}}}}}};
  kube::Object config(api::kMachineConfig, {"", *machineconfig::rendered_name("worker", spec)});
  config.json().get_object()["spec"] = std::move(spec);
  return config;
}

Observation at_rest(const kube::Object& config) {
  Observation observed;
  observed.current = config;
  observed.os.booted = deployment_of(config);
  observed.os.boot_id = "boot-1";
  observed.node.current_config = observed.node.desired_config = config.name();
  observed.node.state = api::NodeState::kDone;
  return observed;
}

TEST(AgentPlan, DecidesByDiskJournalBootAndNode) {
  const kube::Object old_config = rendered("1", {"/etc/a"}), new_config = rendered("2", {"/etc/a"});
  Observation observed = at_rest(old_config);
  EXPECT_EQ(next_step(observed), NextStep::kNothing);
  observed.node.state = api::NodeState::kWorking;
  EXPECT_EQ(next_step(observed), NextStep::kReport);
  observed.node.desired_config = new_config.name();
  EXPECT_EQ(next_step(observed), NextStep::kUpdate);
  observed.journal = Journal{Phase::kApplying, new_config, DisruptionClass::kReboot, "boot-1", {}};
  EXPECT_EQ(next_step(observed), NextStep::kUpdate);
  observed.journal->phase = Phase::kBooting;
  EXPECT_EQ(next_step(observed), NextStep::kReboot);
  observed.os.boot_id = "boot-2";
  EXPECT_EQ(next_step(observed), NextStep::kFinish);
  observed.journal->phase = Phase::kReporting;
  EXPECT_EQ(next_step(observed), NextStep::kFinish);
  Observation fresh;
  EXPECT_EQ(next_step(fresh), NextStep::kNothing);
}

TEST(AgentPlan, RefusesWhatARunningMachineCannotFollow) {
  kube::Object fips = rendered("1", {});
  json::ensure(fips.json(), {"spec", "fips"}) = true;
  kube::Object renamed(api::kMachineConfig,
                       {"", *machineconfig::rendered_name("worker", *json::find(fips.json(), {"spec"}))});
  renamed.json().get_object()["spec"] = *json::find(fips.json(), {"spec"});
  const auto plan = plan_update(at_rest(rendered("1", {})), renamed);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().reason(), kUnreconcilableReason);
  EXPECT_EQ(plan.error().message(),
            "a running machine cannot follow: detected change to FIPS flag; refusing to modify FIPS on a running "
            "cluster; install it anew or undo the change");
}

TEST(AgentPlan, RefusesWhatItCannotApplyByName) {
  kube::Object realtime = rendered("1", {});
  json::ensure(realtime.json(), {"spec", "kernelType"}) = "realtime";
  kube::Object renamed(api::kMachineConfig,
                       {"", *machineconfig::rendered_name("worker", *json::find(realtime.json(), {"spec"}))});
  renamed.json().get_object()["spec"] = *json::find(realtime.json(), {"spec"});
  const auto plan = plan_update(at_rest(rendered("1", {})), renamed);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().message(),
            "this agent cannot apply kernel type realtime; take it out of the pool's MachineConfigs");
}

TEST(AgentPlan, FollowsTheClustersDisruptionPolicy) {
  Observation observed = at_rest(rendered("1", {}));
  const kube::Object desired = rendered("1", {"/etc/motd"});
  EXPECT_TRUE(plan_update(observed, desired)->reboot);
  observed.policy.files.push_back({"/etc/motd", {{machineconfig::ActionType::kNone, ""}}});
  EXPECT_FALSE(plan_update(observed, desired)->reboot);
}

TEST(AgentPlan, AGoalThatChangesBeforeTheBootIsPlannedAnew) {
  const kube::Object old_config = rendered("1", {}), new_config = rendered("2", {});
  Observation observed = at_rest(old_config);
  observed.journal = Journal{Phase::kBooting, new_config, DisruptionClass::kReboot, "boot-1", {}};
  EXPECT_EQ(next_step(observed), NextStep::kUpdate);
}

TEST(AgentPlan, RemovesWhatTheOldOrAnAbandonedConfigLeft) {
  const kube::Object old_config = rendered("1", {"/etc/a", "/etc/old"});
  Observation observed = at_rest(old_config);
  observed.journal = Journal{Phase::kApplying,
                             rendered("1", {"/etc/abandoned"}),
                             DisruptionClass::kReboot,
                             "boot-1",
                             {"/etc/abandoned", "/etc/a"}};
  const auto plan = plan_update(observed, rendered("1", {"/etc/a", "/etc/new"}));
  ASSERT_TRUE(plan.ok()) << plan.error().to_string();
  EXPECT_EQ(plan->removals, (std::set<std::string>{"/etc/abandoned", "/etc/old"}));
  EXPECT_TRUE(plan->touched.contains("/etc/abandoned"));
  EXPECT_TRUE(plan->touched.contains("/etc/new"));
  EXPECT_TRUE(plan->reboot);
}

TEST(AgentPlan, AnotherBootedDeploymentForcesAReboot) {
  const kube::Object config = rendered("1", {"/etc/a"});
  Observation observed = at_rest(config);
  observed.os.booted.image = "something else";
  const auto plan = plan_update(observed, config);
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->reboot);
  EXPECT_EQ(plan->consequence.disruption, DisruptionClass::kReboot);
}

TEST(AgentPlan, AnEditedRenderedConfigIsRefused) {
  kube::Object config = rendered("1", {"/etc/a"});
  json::ensure(config.json(), {"spec", "osImageURL"}) = "evil";
  const auto plan = plan_update(Observation{}, config);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code(), Code::kCorrupt);
}

TEST(AgentJournal, SurvivesTheProcess) {
  MemoryTree tree;
  AgentDisk disk(tree);
  EXPECT_FALSE(disk.journal()->has_value());
  EXPECT_FALSE(disk.current_config()->has_value());
  const Journal journal{
      Phase::kBooting, rendered("1", {"/etc/a"}), DisruptionClass::kReboot, "boot-7", {"/etc/a", "/etc/b"}};
  ASSERT_TRUE(disk.write_journal(journal).ok());
  const auto again = AgentDisk(tree).journal();
  ASSERT_TRUE(again.ok() && again->has_value());
  EXPECT_EQ((*again)->phase, Phase::kBooting);
  EXPECT_EQ((*again)->boot_id, "boot-7");
  EXPECT_EQ((*again)->touched, journal.touched);
  EXPECT_EQ((*again)->config.name(), journal.config.name());
  ASSERT_TRUE(disk.clear_journal().ok());
  EXPECT_FALSE(disk.journal()->has_value());
}

TEST(AgentJournal, ADamagedJournalIsAnErrorNotAFreshStart) {
  MemoryTree tree;
  ASSERT_TRUE(tree.write("/var/lib/strake/agent-journal.json", R"({"phase":"dreaming"})", 0600, {}).ok());
  EXPECT_FALSE(AgentDisk(tree).journal().ok());
}

}  // namespace strake::agent::plan_test
