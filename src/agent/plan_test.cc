#include "agent/plan.h"

#include <gtest/gtest.h>

#include "machineconfig/agent_files.h"

#include "agent/agent.h"
#include "api/kinds.h"
#include "machineconfig/render/rendered_name.h"
#include "osbackend/sandbox_backend.h"

namespace strake::agent::plan_test {

using machineconfig::DisruptionClass;

std::string os_image(char digit) { return "registry.example/os@sha256:" + std::string(64, digit); }

kube::Object named(json::Value spec) {
  kube::Object config(api::kMachineConfig, {"", *machineconfig::rendered_name("worker", spec)});
  config.json().get_object()["spec"] = std::move(spec);
  return config;
}

kube::Object rendered(char image, const std::vector<std::string>& paths) {
  json::Array files;
  for (const std::string& path : paths)
    files.push_back(json::Object{{"path", path}, {"contents", json::Object{{"source", "data:,x"}}}});
  return named(json::Object{{"osImageURL", os_image(image)},
                            {"kernelArguments", json::Array{}},
                            {"config", json::Object{{"ignition", json::Object{{"version", "3.5.0"}}},
                                                    {"storage", json::Object{{"files", std::move(files)}}}}}});
}

/// The same config with one more member, under the name it then has.
kube::Object with(const kube::Object& config, std::string_view member, json::Value value) {
  json::Value spec = *json::find(config.json(), {"spec"});
  json::ensure(spec, {member}) = std::move(value);
  return named(std::move(spec));
}
kube::Object with_ignition(const kube::Object& config, std::string_view section, json::Value value) {
  json::Value ignition = *json::find(config.json(), {"spec", "config"});
  json::ensure(ignition, {section}) = std::move(value);
  return with(config, "config", std::move(ignition));
}

osbackend::Deployment booted_as(const kube::Object& config) {
  const auto target = os_target(config, {});
  return {target->image, target->kernel_arguments, {"root=/dev/vda"}, target->kernel_type, target->extensions};
}

Observation at_rest(const kube::Object& config) {
  Observation observed;
  observed.current = config;
  observed.os.booted = booted_as(config);
  observed.os.boot_id = "boot-1";
  observed.os.capabilities = {.image = true, .kernel_arguments = true};
  observed.node.current_config = observed.node.desired_config = config.name();
  observed.node.state = api::NodeState::kDone;
  return observed;
}

/// Everything the applied config has is in place.
FileStates disk_of(const Observation& observed) {
  FileStates have;
  if (!observed.current) return have;
  const FileStates applied = *wanted_files({}, *observed.current);
  for (const auto& [path, state] : applied) {
    for (const std::string& folder : folders_above(path))
      have[folder] = FileState{FileState::Kind::kDirectory, 0755, "", {}};
    have[path] = state;
  }
  return have;
}

Result<UpdatePlan> planned(const Observation& observed, const kube::Object& desired) {
  STRAKE_TRY(const FileStates want, wanted_files(observed, desired));
  return plan_update(observed, desired, want, disk_of(observed));
}

std::vector<std::string> texts(const std::vector<Step>& steps) {
  std::vector<std::string> lines;
  for (const Step& step : steps) lines.push_back(to_string(step));
  return lines;
}

NextStep next(const Observation& observed) { return next_step(observed, 3); }

TEST(AgentPlan, DecidesByDiskJournalBootAndNode) {
  const kube::Object old_config = rendered('1', {"/etc/a"}), new_config = rendered('2', {"/etc/a"});
  Observation observed = at_rest(old_config);
  EXPECT_EQ(next(observed), NextStep::kNothing);
  observed.node.state = api::NodeState::kWorking;
  EXPECT_EQ(next(observed), NextStep::kReport);
  observed.node.desired_config = new_config.name();
  EXPECT_EQ(next(observed), NextStep::kUpdate);
  observed.journal = Journal{Phase::kApplying, new_config, DisruptionClass::kReboot, "boot-1", 0, {}};
  EXPECT_EQ(next(observed), NextStep::kUpdate);
  observed.journal->phase = Phase::kBooting;
  EXPECT_EQ(next(observed), NextStep::kReboot);
  observed.os.boot_id = "boot-2";
  EXPECT_EQ(next(observed), NextStep::kFinish);
  observed.journal->phase = Phase::kReporting;
  EXPECT_EQ(next(observed), NextStep::kFinish);
  Observation fresh;
  EXPECT_EQ(next(fresh), NextStep::kNothing);
}

TEST(AgentPlan, WhatIsNotInPlaceIsTriedAgainButNotForEver) {
  const kube::Object old_config = rendered('1', {}), new_config = rendered('2', {});
  Observation observed = at_rest(old_config);
  observed.node.desired_config = new_config.name();
  observed.journal = Journal{Phase::kBooting, new_config, DisruptionClass::kReboot, "boot-0", 1, {}};
  observed.mismatch = error(Code::kIo, "the machine fell back");
  EXPECT_EQ(next(observed), NextStep::kRetry);
  observed.journal->boots = 3;
  EXPECT_EQ(next(observed), NextStep::kGiveUp);
  // Put back as it was asked for, or asked for something else: either heals.
  observed.mismatch.reset();
  EXPECT_EQ(next(observed), NextStep::kFinish);
  observed.mismatch = error(Code::kIo, "the machine fell back");
  observed.node.desired_config = old_config.name();
  EXPECT_EQ(next(observed), NextStep::kUpdate);
  observed.node.desired_config = rendered('3', {}).name();
  EXPECT_EQ(next(observed), NextStep::kUpdate);
}

TEST(AgentPlan, RefusesWhatARunningMachineCannotFollow) {
  const auto plan = planned(at_rest(rendered('1', {})), with(rendered('1', {}), "fips", true));
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().reason(), kUnreconcilableReason);
  EXPECT_EQ(plan.error().message(),
            "a running machine cannot follow: detected change to FIPS flag; refusing to modify FIPS on a running "
            "cluster; install it anew or undo the change");
}

TEST(AgentPlan, WhatNobodyCanApplyIsRefusedByName) {
  const kube::Object base = rendered('1', {"/etc/a"});
  const json::Value users = json::parse(R"({"users":[{"name":"core","sshAuthorizedKeys":["ssh-ed25519 A"]}]})").value();
  const json::Value links =
      json::parse(R"({"files":[],"links":[{"path":"/etc/l","target":"/etc/a"}],"directories":[{"path":"/etc/d"}]})")
          .value();
  const auto units = [](const char* text) { return json::parse(text).value(); };
  struct Case {
    const char* name;
    kube::Object desired;
    bool first;  ///< the machine has never been configured
    const char* says;
  };
  const std::vector<Case> cases = {
      {"ssh keys", with_ignition(base, "passwd", users), false, "ssh keys of user core"},
      {"ssh keys, first config", with_ignition(base, "passwd", users), true, "ssh keys of user core"},
      {"links and directories", with_ignition(base, "storage", links), true, "directory /etc/d, link /etc/l"},
      {"kernel type", with(base, "kernelType", "realtime"), false, "kernel type realtime"},
      {"extensions", with(base, "extensions", json::Array{"usbguard"}), false, "extension usbguard"},
      {"fips", with(base, "fips", true), true, "fips"},
      {"enabled without contents",
       with_ignition(base, "systemd", units(R"({"units":[{"name":"x.service","enabled":true}]})")), false,
       "enabling of unit x.service, which has no contents"},
      {"alias",
       with_ignition(
           base, "systemd",
           units(R"({"units":[{"name":"x.service","enabled":true,"contents":"[Install]\nAlias=y.service"}]})")),
       false, "enabling of unit x.service, whose [Install] section has Alias="},
  };
  for (const Case& each : cases) {
    Observation observed = at_rest(base);
    if (each.first) observed.current.reset();
    const auto plan = planned(observed, each.desired);
    ASSERT_FALSE(plan.ok()) << each.name;
    EXPECT_EQ(plan.error().reason(), kUnreconcilableReason) << each.name;
    EXPECT_NE(plan.error().message().find(each.says), std::string::npos) << plan.error().message();
    EXPECT_NE(plan.error().message().find("take it out"), std::string::npos);
    // What was there from the beginning is in place and stays.
    EXPECT_TRUE(planned(at_rest(each.desired), each.desired).ok()) << each.name;
  }
  Observation without_images = at_rest(base);
  without_images.os.capabilities = {};
  const auto plan = planned(without_images, with(rendered('2', {}), "kernelArguments", json::Array{"nosmt"}));
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().message().find(", kernel arguments [nosmt]; take"), std::string::npos);
}

TEST(AgentPlan, FollowsTheClustersDisruptionPolicy) {
  Observation observed = at_rest(rendered('1', {}));
  const kube::Object desired = rendered('1', {"/etc/motd"});
  EXPECT_EQ(planned(observed, desired)->consequence.disruption, DisruptionClass::kReboot);
  observed.policy.files.push_back({"/etc/motd", {{machineconfig::ActionType::kNone, ""}}});
  EXPECT_EQ(planned(observed, desired)->consequence.disruption, DisruptionClass::kNone);
}

/// Every pair of changes under every pair of policies: the steps are those of the verdict that rollout and diff show.
TEST(AgentPlan, DoesWhatTheVerdictSaysAndNothingElse) {
  using machineconfig::ActionType;
  using machineconfig::PolicyAction;
  const std::vector<std::vector<PolicyAction>> choices = {
      {{ActionType::kNone, ""}},
      {{ActionType::kReload, "a.service"}},
      {{ActionType::kRestart, "b.service"}, {ActionType::kDaemonReload, ""}},
      {{ActionType::kSpecial, ""}},
      {{ActionType::kDrain, ""}},
      {{ActionType::kReboot, ""}},
      {{ActionType::kReload, "a.service"}, {ActionType::kRestart, "a.service"}},
  };
  const json::Value unit = json::parse(R"({"units":[{"name":"x.service","contents":"[Unit]"}]})").value();
  int told = 0, rebooted = 0;
  for (const auto& first : choices) {
    for (const auto& second : choices) {
      for (const bool with_unit : {false, true}) {
        Observation observed = at_rest(rendered('1', {}));
        observed.policy.files = {{"/etc/one", first}, {"/etc/two", second}};
        observed.policy.units = {{"x.service", {{ActionType::kNone, ""}}}};
        kube::Object desired = rendered('1', {"/etc/one", "/etc/two"});
        if (with_unit) desired = with_ignition(desired, "systemd", unit);
        const auto plan = planned(observed, desired);
        ASSERT_TRUE(plan.ok()) << plan.error().to_string();
        const auto verdict = machineconfig::consequence_of(json::find(observed.current->json(), {"spec"}),
                                                           *json::find(desired.json(), {"spec"}), observed.policy);
        ASSERT_TRUE(verdict.ok());
        EXPECT_EQ(plan->consequence.disruption, verdict->disruption);
        std::vector<std::string> steps;
        bool reboots = false;
        for (const Step& step : plan->steps) {
          if (std::holds_alternative<Reboot>(step)) reboots = true;
          if (std::holds_alternative<TellService>(step)) steps.push_back(to_string(step));
        }
        std::vector<std::string> called_for;
        for (const PolicyAction& action : verdict->actions) {
          if (action.type == ActionType::kDaemonReload) called_for.emplace_back("read units anew");
          if (action.type == ActionType::kReload) called_for.push_back("reload " + action.service);
          if (action.type == ActionType::kRestart) called_for.push_back("restart " + action.service);
        }
        EXPECT_EQ(steps, called_for);
        EXPECT_EQ(reboots, verdict->disruption == DisruptionClass::kReboot);
        EXPECT_TRUE(!reboots || steps.empty());
        const auto readings = std::count(steps.begin(), steps.end(), "read units anew");
        EXPECT_TRUE(readings == 0 || (readings == 1 && steps.front() == "read units anew"));
        EXPECT_TRUE(!with_unit || reboots || readings == 1);
        told += !steps.empty();
        rebooted += reboots;
      }
    }
  }
  EXPECT_GT(told, 20);
  EXPECT_GT(rebooted, 20);
}

TEST(AgentPlan, WhoWasToldOfAnAbandonedConfigIsToldAgainUnlessTheMachineBooted) {
  const kube::Object old_config = rendered('1', {"/etc/a"});
  Observation observed = at_rest(old_config);
  const TellService reload{TellService::What::kReload, "crio.service"};
  observed.journal = Journal{Phase::kApplying, rendered('1', {}), DisruptionClass::kReload, "boot-1", 0, {}, {reload}};
  EXPECT_EQ(texts(planned(observed, old_config)->steps), (std::vector<std::string>{"reload crio.service"}));
  EXPECT_EQ(planned(observed, old_config)->told, std::vector<TellService>{reload});
  const auto reboots = planned(observed, rendered('2', {"/etc/a"}));
  EXPECT_TRUE(std::holds_alternative<Reboot>(reboots->steps.back()));
  EXPECT_EQ(reboots->told, std::vector<TellService>{reload}) << "it may fail before the boot";
  observed.os.boot_id = "boot-2";
  EXPECT_TRUE(planned(observed, old_config)->steps.empty());
}

TEST(AgentPlan, AnOsImageByTagIsRefused) {
  const auto plan =
      planned(at_rest(rendered('1', {})), with(rendered('1', {}), "osImageURL", "registry.example/os:latest"));
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code(), Code::kInvalidArgument);
  EXPECT_NE(plan.error().to_string().find("spec.osImageURL"), std::string::npos) << plan.error().to_string();
}

TEST(AgentPlan, AGoalThatChangesBeforeTheBootIsPlannedAnew) {
  const kube::Object old_config = rendered('1', {}), new_config = rendered('2', {});
  Observation observed = at_rest(old_config);
  observed.journal = Journal{Phase::kBooting, new_config, DisruptionClass::kReboot, "boot-1", 1, {}};
  observed.os.staged = booted_as(new_config);
  EXPECT_EQ(next(observed), NextStep::kUpdate);
  // Back to what runs: what was staged must not boot.
  const auto plan = planned(observed, old_config);
  ASSERT_TRUE(plan.ok()) << plan.error().to_string();
  ASSERT_EQ(plan->steps.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<StageOs>(plan->steps.front()));
  EXPECT_EQ(plan->consequence.disruption, DisruptionClass::kNone);
}

TEST(AgentPlan, RemovesWhatTheOldConfigHadAndPutsBackWhatAnAbandonedOneChanged) {
  const kube::Object old_config = rendered('1', {"/etc/a", "/etc/old"});
  Observation observed = at_rest(old_config);
  const FileState original{FileState::Kind::kFile, 0600, "the machine's own", {}};
  observed.journal = Journal{Phase::kApplying,
                             rendered('1', {"/etc/abandoned", "/etc/taken"}),
                             DisruptionClass::kReboot,
                             "boot-1",
                             0,
                             {{"/etc/abandoned", std::nullopt}, {"/etc/taken", original}}};
  const kube::Object desired = rendered('1', {"/etc/a", "/etc/new"});
  FileStates have = disk_of(observed);
  have["/etc/abandoned"] = have["/etc/taken"] = FileState{FileState::Kind::kFile, 0644, "x", {}};
  const auto plan = plan_update(observed, desired, *wanted_files(observed, desired), have);
  ASSERT_TRUE(plan.ok()) << plan.error().to_string();
  EXPECT_EQ(texts(plan->steps), (std::vector<std::string>{"write /etc/new (0644, 1 bytes)",
                                                          "write /etc/taken (0600, 17 bytes)", "remove /etc/abandoned",
                                                          "remove /etc/old", "reboot: update to " + desired.name()}));
  // What the node is put back to, should this fail: the state at rest, not the one half-way.
  EXPECT_EQ(plan->before.at("/etc/taken"), original);
  EXPECT_FALSE(plan->before.at("/etc/abandoned").has_value());
  EXPECT_TRUE(plan->before.at("/etc/old").has_value());
  EXPECT_FALSE(plan->before.contains("/etc/a"));
}

TEST(AgentPlan, AnotherBootedDeploymentForcesAReboot) {
  const kube::Object config = rendered('1', {"/etc/a"});
  Observation observed = at_rest(config);
  observed.os.booted.image = osbackend::ImageReference::parse(os_image('2')).value();
  const auto plan = planned(observed, config);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->consequence.disruption, DisruptionClass::kReboot);
  ASSERT_EQ(plan->steps.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<StageOs>(plan->steps[0]));
  EXPECT_TRUE(std::holds_alternative<Reboot>(plan->steps[1]));
}

TEST(AgentPlan, TheMachinesOwnKernelArgumentsAreNoDifference) {
  const kube::Object config = with(rendered('1', {}), "kernelArguments", json::Array{"nosmt"});
  Observation observed = at_rest(config);
  observed.os.booted.machine_arguments = {"root=/dev/vda", "console=ttyS0", "nosmt"};
  const auto plan = planned(observed, config);
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->steps.empty());
}

TEST(AgentPlan, AConfigWithoutAnImageKeepsTheOneThatRuns) {
  json::Value spec = *json::find(rendered('1', {}).json(), {"spec"});
  spec.get_object()["osImageURL"] = "";
  const kube::Object config = named(std::move(spec));
  Observation observed = at_rest(config);
  observed.os.booted.image = osbackend::ImageReference::parse(os_image('7')).value();
  observed.os.staged = observed.os.booted;
  observed.os.staged->image = osbackend::ImageReference::parse(os_image('8')).value();
  const auto plan = planned(observed, config);
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->steps.size(), 1u);
  EXPECT_EQ(std::get<StageOs>(plan->steps[0]).target.image, observed.os.booted.image);
}

TEST(AgentPlan, AnEditedRenderedConfigIsRefused) {
  kube::Object config = rendered('1', {"/etc/a"});
  json::ensure(config.json(), {"spec", "osImageURL"}) = os_image('2');
  const auto plan = planned(Observation{}, config);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code(), Code::kCorrupt);
}

TEST(AgentJournal, SurvivesTheProcessWithWhatWasThereBefore) {
  MemoryTree tree;
  AgentDisk disk(tree);
  EXPECT_FALSE(disk.journal()->has_value());
  EXPECT_FALSE(disk.current_config()->has_value());
  const std::string bytes("\0\xff binary", 9);
  const Journal journal{Phase::kBooting,
                        rendered('1', {"/etc/a"}),
                        DisruptionClass::kReboot,
                        "boot-7",
                        2,
                        {{"/etc/a", FileState{FileState::Kind::kFile, 0640, bytes, {7, 8}}},
                         {"/etc/b", std::nullopt},
                         {"/etc/l", FileState{FileState::Kind::kLink, 0777, "/dev/null", {}}},
                         {"/etc/d", FileState{FileState::Kind::kDirectory, 0755, "", {}}}},
                        {{TellService::What::kReadUnits, ""}, {TellService::What::kRestart, "crio.service"}}};
  ASSERT_TRUE(disk.write_journal(journal).ok());
  const auto again = AgentDisk(tree).journal();
  ASSERT_TRUE(again.ok() && again->has_value()) << again.error().to_string();
  EXPECT_EQ((*again)->phase, Phase::kBooting);
  EXPECT_EQ((*again)->boot_id, "boot-7");
  EXPECT_EQ((*again)->boots, 2);
  EXPECT_EQ((*again)->before, journal.before);
  EXPECT_EQ((*again)->told, journal.told);
  EXPECT_EQ((*again)->config.name(), journal.config.name());
  ASSERT_TRUE(disk.clear_journal().ok());
  EXPECT_FALSE(disk.journal()->has_value());
  for (const auto& [path, state] : tree.snapshot()) EXPECT_EQ(state.kind, FileState::Kind::kDirectory) << path;
}

TEST(AgentJournal, ADamagedJournalIsAnErrorNotAFreshStart) {
  MemoryTree tree;
  ASSERT_TRUE(tree.write("/var/lib/strake/agent-journal.json", R"({"phase":"dreaming"})", 0600, {}).ok());
  EXPECT_FALSE(AgentDisk(tree).journal().ok());
}

TEST(AgentOwnFiles, ItsUnitIsTakenFromARendererThatAnswersForIt) {
  kube::Object config = rendered('a', {"/etc/x"});
  json::ensure(config.json(), {"spec", "config", "systemd", "units"}) = json::Array{
      json::Object{{"name", "strake-agent.service"}, {"contents", "[Service]\nExecStart=/usr/bin/strake agent\n"}}};
  const auto mark = machineconfig::agent_unit_mark(*json::find(config.json(), {"spec", "config"}));
  ASSERT_TRUE(mark);
  EXPECT_FALSE(wanted_files({}, config).ok()) << "nobody says where it comes from";
  config.set_annotation(machineconfig::kAgentUnitAnnotation, "sha256:0");
  EXPECT_FALSE(wanted_files({}, config).ok()) << "it is another unit that was answered for";
  config.set_annotation(machineconfig::kAgentUnitAnnotation, *mark);
  const auto want = wanted_files({}, config);
  ASSERT_TRUE(want.ok()) << want.error().to_string();
  EXPECT_TRUE(want->contains("/etc/systemd/system/strake-agent.service"));
  json::ensure(config.json(), {"spec", "config", "storage", "files"}) =
      json::Array{json::Object{{"path", "/var/lib/strake/x"}}};
  EXPECT_FALSE(wanted_files({}, config).ok()) << "the unit, and nothing else";
}

TEST(AgentOwnFiles, AreNeitherWrittenNorTakenAway) {
  const auto refused = wanted_files({}, rendered('a', {"/etc/x", "/var//lib/strake/agent-journal.json"}));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().to_string().find("storage.files[1].path: /var//lib/strake/agent-journal.json belongs"),
            std::string::npos)
      << refused.error().to_string();
  EXPECT_NE(refused.error().to_string().find("MachineConfig rendered-worker-"), std::string::npos);
  // A config that was applied before this was refused.
  Observation observed;
  observed.current = rendered('a', {"/etc/old", "/var/lib/strake/agent-journal.json"});
  const auto want = wanted_files(observed, rendered('a', {"/etc/x"}));
  ASSERT_TRUE(want.ok());
  EXPECT_TRUE(want->contains("/etc/old"));
  EXPECT_FALSE(want->contains("/var/lib/strake/agent-journal.json"));
}

}  // namespace strake::agent::plan_test
