#include "machineconfig/impact/consequence.h"

#include <gtest/gtest.h>

#include "machineconfig/testing/spec_text.h"

namespace strake::machineconfig::consequence_test {

using builders::file_text;
using builders::from_text;
using builders::ignition_spec;
using builders::spec_with_files;

const Capabilities kAll{true, true, true, true, true, true, true, true, true, true};

constexpr std::string_view kBase =
    R"({"osImageURL":"a","kernelArguments":["x"],"fips":false,"kernelType":"default","extensions":[],
        "config":{"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"/etc/f","contents":{"source":"data:,1"}}]},
                  "systemd":{"units":[{"name":"u.service","contents":"[Unit]\n"}]}}})";

TEST(Consequence, EachChangeHasItsClassAndReason) {
  struct Case {
    const char* path;
    const char* value;
    DisruptionClass disruption;
    const char* reason;
  };
  const Case cases[] = {
      {"osImageURL", R"("b")", DisruptionClass::kReboot, "another OS image"},
      {"kernelType", R"("realtime")", DisruptionClass::kReboot, "another kernel type"},
      {"kernelArguments", R"(["x","y"])", DisruptionClass::kReboot, "kernel argument y added"},
      {"kernelArguments", R"([])", DisruptionClass::kReboot, "kernel argument x removed"},
      {"extensions", R"(["usbguard"])", DisruptionClass::kReboot, "extension usbguard added"},
      {"config", R"({"ignition":{"version":"3.5.0"},"systemd":{"units":[{"name":"u.service","contents":"[Unit]\n"}]}})",
       DisruptionClass::kReboot, "file /etc/f removed"},
      {"config",
       R"({"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"/etc/f","contents":{"source":"data:,1"}}]}})",
       DisruptionClass::kReboot, "unit u.service removed"},
  };
  const json::Value base = from_text(kBase);
  for (const Case& test : cases) {
    json::Value changed = base;
    changed.get_object()[test.path] = from_text(test.value);
    const auto consequence = consequence_of(&base, changed, default_disruption_policy(), kAll);
    ASSERT_TRUE(consequence.ok());
    EXPECT_EQ(consequence->disruption, test.disruption) << test.reason;
    EXPECT_EQ(consequence->reasons, std::vector<std::string>{test.reason});
  }
}

TEST(Consequence, WhatThePlatformChangesLiveCostsNothing) {
  const json::Value base = from_text(kBase);
  json::Value changed = base;
  json::find(changed, {"config", "storage", "files"})
      ->get_array()
      .push_back(from_text(R"({"path":"/var/lib/kubelet/config.json","contents":{"source":"data:,secret"}})"));
  const auto consequence = consequence_of(&base, changed, default_disruption_policy(), kAll);
  ASSERT_TRUE(consequence.ok());
  EXPECT_EQ(consequence->disruption, DisruptionClass::kNone);
  EXPECT_EQ(consequence->reasons.size(), 1u);
}

TEST(Consequence, EqualContentsInAnotherEncodingAreNoChange) {
  const json::Value base = from_text(kBase);
  json::Value encoded = base;
  json::find(encoded, {"config", "storage", "files"})->get_array()[0] =
      from_text(R"({"path":"/etc/f","contents":{"source":"data:;base64,MQ=="}})");
  EXPECT_TRUE(consequence_of(&base, encoded, default_disruption_policy(), kAll)->reasons.empty());
}

TEST(Consequence, FipsTakesANewInstallationAndAFirstConfigReboots) {
  const json::Value base = from_text(kBase);
  json::Value fips = base;
  fips.get_object()["fips"] = true;
  EXPECT_EQ(consequence_of(&base, fips, default_disruption_policy(), kAll)->disruption, DisruptionClass::kReinstall);
  EXPECT_EQ(consequence_of(nullptr, base, default_disruption_policy(), kAll)->disruption, DisruptionClass::kReboot);
}

TEST(Consequence, TheAgentRebootsWhereAReloadWouldDo) {
  const json::Value base = from_text(kBase);
  json::Value changed = base;
  json::find(changed, {"config", "storage", "files"})
      ->get_array()
      .push_back(from_text(file_text("/etc/containers/policy.json", "{}")));
  const auto consequence = consequence_of(&base, changed, default_disruption_policy(), {});
  ASSERT_TRUE(consequence.ok());
  EXPECT_EQ(consequence->disruption, DisruptionClass::kReboot);
  EXPECT_EQ(consequence->reasons,
            (std::vector<std::string>{"file /etc/containers/policy.json added",
                                      "a reload would be enough, but the agent can only reboot for that"}));
}

TEST(Consequence, NamesWhatServicesAreToldEachOnceAndUnitsFirst) {
  const json::Value base = from_text(kBase);
  json::Value changed = base;
  json::Array& files = json::find(changed, {"config", "storage", "files"})->get_array();
  files.push_back(from_text(file_text("/etc/containers/policy.json", "{}")));
  files.push_back(from_text(file_text("/etc/containers/registries.d/a.yaml", "a")));
  files.push_back(from_text(file_text("/etc/systemd/system/x.service.d/10.conf", "[Unit]")));
  DisruptionPolicy policy = default_disruption_policy();
  policy.files.push_back({"/etc/systemd/system/x.service.d", {{ActionType::kRestart, "x.service"}}});
  const auto consequence = consequence_of(&base, changed, policy);
  ASSERT_TRUE(consequence.ok());
  EXPECT_EQ(consequence->disruption, DisruptionClass::kRestart);
  EXPECT_EQ(consequence->actions, (std::vector<PolicyAction>{{ActionType::kDaemonReload, ""},
                                                             {ActionType::kReload, "crio.service"},
                                                             {ActionType::kRestart, "x.service"}}));
  changed.get_object()["kernelArguments"] = from_text("[]");
  const auto reboot = consequence_of(&base, changed, policy);
  EXPECT_EQ(reboot->disruption, DisruptionClass::kReboot);
  EXPECT_TRUE(reboot->actions.empty()) << "a boot covers all of it";
}

TEST(Consequence, IsNeverLessThanIsCalledForAndAlwaysSomethingTheAgentCanDo) {
  for (const char* name : {"none", "reload", "restart", "drain", "reboot", "reinstall"}) {
    const DisruptionClass called_for = *parse_disruption_class(name);
    const DisruptionClass done = executable_class(called_for, {});
    EXPECT_GE(done, called_for) << name;
    EXPECT_TRUE(done == DisruptionClass::kNone || done == DisruptionClass::kReboot ||
                done == DisruptionClass::kReinstall)
        << name;
    EXPECT_EQ(executable_class(called_for, kAll), called_for);
  }
}

TEST(Consequence, TheUsersPolicyDecides) {
  const json::Value base = from_text(kBase);
  json::Value changed = base;
  json::find(changed, {"config", "storage", "files"})
      ->get_array()
      .push_back(from_text(file_text("/etc/motd.d/hello", "hi")));
  EXPECT_EQ(consequence_of(&base, changed, default_disruption_policy())->disruption, DisruptionClass::kReboot);
  kube::Object settings(from_text(R"({"metadata":{"name":"cluster","generation":1},"spec":{"nodeDisruptionPolicy":
      {"files":[{"path":"/etc/motd.d","actions":[{"type":"None"}]}]}}})"));
  const auto policy = disruption_policy_of(&settings);
  ASSERT_TRUE(policy.ok()) << policy.error().to_string();
  EXPECT_EQ(consequence_of(&base, changed, *policy)->disruption, DisruptionClass::kNone);
  EXPECT_EQ(*disruption_policy_of(nullptr), default_disruption_policy());
}

TEST(Consequence, APolicyThatCannotBeReadIsAnErrorAndNotTheDefaults) {
  kube::Object settings(from_text(
      R"({"metadata":{"name":"cluster"},"spec":{"nodeDisruptionPolicy":{"files":[{"path":"/a","actions":[{"type":"Dance"}]}]}}})"));
  const auto policy = disruption_policy_of(&settings);
  ASSERT_FALSE(policy.ok());
  EXPECT_NE(policy.error().to_string().find("MachineConfiguration cluster: its node disruption policy cannot be read"),
            std::string::npos)
      << policy.error().to_string();
}

TEST(Consequence, WhatTheAgentCannotApplyIsNamed) {
  struct Case {
    const char* spec;
    const char* name;
    bool Capabilities::* needed;
  };
  const Case cases[] = {
      {R"({"kernelType":"realtime"})", "kernel type realtime", &Capabilities::kernel_type},
      {R"({"extensions":["usbguard"]})", "extension usbguard", &Capabilities::extensions},
      {R"({"config":{"ignition":{"version":"3.5.0"},"storage":{"directories":[{"path":"/srv/d"}]}}})",
       "directory /srv/d", &Capabilities::directories},
      {R"({"config":{"ignition":{"version":"3.5.0"},"storage":{"links":[{"path":"/srv/l","target":"/a"}]}}})",
       "link /srv/l", &Capabilities::links},
      {R"({"config":{"ignition":{"version":"3.5.0"},"passwd":{"users":[{"name":"core","sshAuthorizedKeys":["k"]}]}}})",
       "ssh keys of user core", &Capabilities::ssh_keys},
      {R"({"config":{"ignition":{"version":"3.5.0"},"passwd":{"users":[{"name":"core","passwordHash":"h"}]}}})",
       "password of user core", &Capabilities::passwords},
      {R"({"config":{"ignition":{"version":"3.5.0"},"passwd":{"users":[{"name":"eve","uid":7}]}}})", "user eve",
       &Capabilities::users_and_groups},
      {R"({"config":{"ignition":{"version":"3.5.0"},"passwd":{"groups":[{"name":"wheel2"}]}}})", "group wheel2",
       &Capabilities::users_and_groups},
  };
  for (const Case& test : cases) {
    const json::Value spec = from_text(test.spec);
    const auto first = consequence_of(nullptr, spec, default_disruption_policy(), {});
    ASSERT_TRUE(first.ok()) << test.name;
    EXPECT_EQ(first->beyond_agent, std::vector<std::string>{test.name});
    EXPECT_FALSE(first->can_follow());
    EXPECT_TRUE(consequence_of(&spec, spec, default_disruption_policy(), {})->can_follow())
        << test.name << ": what does not change asks for nothing";
    Capabilities able;
    able.*test.needed = true;
    EXPECT_TRUE(consequence_of(nullptr, spec, default_disruption_policy(), able)->can_follow()) << test.name;
  }
}

TEST(Consequence, TakingAwayWhatTheAgentCannotApplyIsNamedToo) {
  const json::Value with = from_text(
      R"({"extensions":["usbguard"],"config":{"ignition":{"version":"3.5.0"},"storage":{"links":[{"path":"/srv/l","target":"/a"}]}}})");
  const json::Value without = from_text(R"({"config":{"ignition":{"version":"3.5.0"}}})");
  EXPECT_EQ(consequence_of(&with, without, default_disruption_policy(), {})->beyond_agent,
            (std::vector<std::string>{"removal of extension usbguard", "removal of link /srv/l"}));
}

}  // namespace strake::machineconfig::consequence_test
