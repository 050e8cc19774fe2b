#include "machineconfig/impact/disruption.h"

#include <gtest/gtest.h>

#include "machineconfig/merge/managed_tree.h"
#include "machineconfig/testing/spec_text.h"

namespace strake::machineconfig::disruption_test {

using builders::comparable_from;
using builders::file_text;
using builders::from_text;
using builders::ignition_spec;
using builders::spec_with_files;

TEST(Disruption, ClassesHaveNames) {
  for (const char* name : {"none", "reload", "restart", "drain", "reboot", "reinstall"}) {
    const auto parsed = parse_disruption_class(name);
    ASSERT_TRUE(parsed.ok()) << name;
    EXPECT_EQ(to_string(*parsed), name);
  }
  EXPECT_FALSE(parse_disruption_class("Reboot").ok());
}

std::vector<std::string> names_of(const std::vector<PolicyAction>& actions) {
  std::vector<std::string> names;
  for (const PolicyAction& action : actions) names.push_back(action.to_string());
  return names;
}

DisruptionVerdict verdict_of(const json::Value& before, const json::Value& after,
                             const DisruptionContext& context = {}) {
  auto verdict = judge_disruption(comparable_from(before), comparable_from(after), context);
  EXPECT_TRUE(verdict.ok()) << (verdict.ok() ? "" : verdict.error().to_string());
  return verdict.ok() ? *std::move(verdict) : DisruptionVerdict{};
}

TEST(Verdict, EachFileCallsForWhatThePolicySays) {
  const struct {
    const char* name;
    std::vector<std::string> paths;
    std::vector<std::string> actions;
    bool drain;
    DisruptionClass disruption;
  } cases[] = {
      {"any file", {"/etc/random"}, {"Reboot"}, true, DisruptionClass::kReboot},
      {"the pull secret", {"/var/lib/kubelet/config.json"}, {"None"}, false, DisruptionClass::kNone},
      {"the kubelet CA is an ordinary file here",
       {"/etc/kubernetes/kubelet-ca.crt"},
       {"Reboot"},
       true,
       DisruptionClass::kReboot},
      {"signature policy", {"/etc/containers/policy.json"}, {"Reload crio.service"}, false, DisruptionClass::kReload},
      {"a signing key",
       {"/etc/machine-config-daemon/no-reboot/containers-gpg.pub"},
       {"Reload crio.service"},
       false,
       DisruptionClass::kReload},
      {"the user's CA bundle",
       {"/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt"},
       {"Restart coreos-update-ca-trust.service", "Restart crio.service"},
       false,
       DisruptionClass::kRestart},
      {"a reload and a restart",
       {"/etc/containers/policy.json", "/etc/kubernetes/credential-providers/x"},
       {"Reload crio.service", "Restart kubelet.service"},
       false,
       DisruptionClass::kRestart},
      {"repeated as often as it is called for",
       {"/etc/containers/registries.d/a", "/etc/containers/registries.d/b"},
       {"Reload crio.service", "Reload crio.service"},
       false,
       DisruptionClass::kReload},
      {"None beside others is dropped",
       {"/var/lib/kubelet/config.json", "/etc/containers/policy.json"},
       {"Reload crio.service"},
       false,
       DisruptionClass::kReload},
      {"only None is one None",
       {"/var/lib/kubelet/config.json", "/etc/nmstate/openshift/a.yml"},
       {"None"},
       false,
       DisruptionClass::kNone},
      {"one Reboot is all", {"/etc/containers/policy.json", "/etc/x"}, {"Reboot"}, true, DisruptionClass::kReboot},
      {"registries that pods can keep",
       {"/etc/containers/registries.conf"},
       {"Special"},
       false,
       DisruptionClass::kReload},
      {"systemd alone",
       {"/etc/systemd/system/kubelet.service.d/40-kubelet-crio-image-credential-provider.conf"},
       {"DaemonReload", "Restart kubelet.service"},
       false,
       DisruptionClass::kRestart},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    std::string files;
    for (const std::string& path : c.paths) files += (files.empty() ? "" : ",") + file_text(path, "# x");
    const DisruptionVerdict verdict =
        verdict_of(ignition_spec(""), ignition_spec(fmt::format(R"("storage":{{"files":[{}]}})", files)));
    EXPECT_EQ(names_of(verdict.actions), c.actions);
    EXPECT_EQ(verdict.drain, c.drain);
    EXPECT_EQ(verdict.disruption, c.disruption);
    EXPECT_EQ(verdict.changes.changed_files.size(), c.paths.size());
    EXPECT_EQ(verdict.causes.size(), c.paths.size());
  }
}

TEST(Verdict, WhatRebootsWhateverThePoliciesSay) {
  const json::Value base = ignition_spec("");
  const struct {
    const char* field;
    const char* value;
    std::vector<std::string> actions;
  } cases[] = {
      {"osImageURL", R"("b")", {"Reboot"}},
      {"kernelArguments", R"(["a"])", {"Reboot"}},
      {"kernelType", R"("realtime")", {"Reboot"}},
      {"extensions", R"(["usbguard"])", {"Reboot"}},
      {"kernelType", R"("default")", {"None"}},
      {"kernelType", R"("")", {"None"}},
      {"kernelArguments", "[]", {"None"}},
      {"extensions", "[]", {"None"}},
      {"baseOSExtensionsContainerImage", R"("e")", {"None"}},
  };
  for (const auto& c : cases) {
    json::Value changed = base;
    changed.get_object()[c.field] = from_text(c.value);
    const DisruptionVerdict verdict = verdict_of(base, changed);
    EXPECT_EQ(names_of(verdict.actions), c.actions) << c.field << " " << c.value;
    EXPECT_EQ(verdict.drain, c.actions[0] == "Reboot");
  }
  DisruptionContext forced;
  forced.force_file = true;
  EXPECT_EQ(names_of(verdict_of(base, base, forced).actions), std::vector<std::string>{"Reboot"});
}

TEST(Verdict, FlagsAreThoseOfADeepComparison) {
  const std::string a = file_text("/etc/a", "1"), b = file_text("/etc/b", "2");
  const std::string unit_a = R"({"name":"a.service"})", unit_b = R"({"name":"b.service"})";
  const auto units = [](const std::string& list) {
    return ignition_spec(fmt::format(R"("systemd":{{"units":[{}]}})", list));
  };
  const struct {
    const char* name;
    json::Value before, after;
    bool files, units, passwd;
    std::vector<std::string> actions;
  } cases[] = {
      {"equal", spec_with_files({a}), spec_with_files({a}), false, false, false, {"None"}},
      {"files in another order", spec_with_files({a, b}), spec_with_files({b, a}), true, false, false, {}},
      {"no files against an empty list",
       ignition_spec(""),
       ignition_spec(R"("storage":{"files":[]})"),
       true,
       false,
       false,
       {}},
      {"units in another order", units(unit_a + "," + unit_b), units(unit_b + "," + unit_a), false, true, false, {}},
      {"a unit enabled",
       units(unit_a),
       units(R"({"name":"a.service","enabled":true})"),
       false,
       true,
       false,
       {"Reboot"}},
      {"no contents against empty ones",
       units(unit_a),
       units(R"({"name":"a.service","contents":""})"),
       false,
       true,
       false,
       {"Reboot"}},
      {"a known unit",
       ignition_spec(""),
       units(R"({"name":"iri-registry.service"})"),
       false,
       true,
       false,
       {"DaemonReload", "Restart iri-registry.service"}},
      {"ssh keys",
       ignition_spec(""),
       ignition_spec(R"("passwd":{"users":[{"name":"core","sshAuthorizedKeys":["k"]}]})"),
       false,
       false,
       true,
       {"None"}},
      {"a password",
       ignition_spec(""),
       ignition_spec(R"("passwd":{"users":[{"name":"core","passwordHash":"h"}]})"),
       false,
       false,
       true,
       {"None"}},
      {"no users against an empty list",
       ignition_spec(""),
       ignition_spec(R"("passwd":{"users":[]})"),
       false,
       false,
       true,
       {"None"}},
      {"the same contents in another encoding",
       spec_with_files({R"({"path":"/etc/a","contents":{"source":"data:,1"}})"}),
       spec_with_files({R"({"path":"/etc/a","contents":{"source":"data:;base64,MQ=="}})"}),
       true,
       false,
       false,
       {"Reboot"}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const DisruptionVerdict verdict = verdict_of(c.before, c.after);
    EXPECT_EQ(verdict.changes.files, c.files);
    EXPECT_EQ(verdict.changes.units, c.units);
    EXPECT_EQ(verdict.changes.passwd, c.passwd);
    EXPECT_EQ(names_of(verdict.actions), c.actions);
    EXPECT_EQ(verdict.disruption == DisruptionClass::kNone, c.actions.empty() || c.actions[0] == "None");
  }
}

TEST(Verdict, ImagesBuiltForAPool) {
  const ComparableSpec spec = comparable_from(ignition_spec(""));
  const struct {
    const char* name;
    LayeredImages images;
    bool os_image, layered, left;
  } cases[] = {
      {"neither", {"", ""}, false, false, false},          {"entering", {"", "i1"}, true, true, false},
      {"the next build", {"i1", "i2"}, true, true, false}, {"the same build", {"i1", "i1"}, false, true, false},
      {"leaving", {"i1", ""}, true, true, true},
  };
  for (const auto& c : cases) {
    const SpecChanges changes = find_spec_changes(spec, spec, FileComparison::kAsWritten, c.images);
    EXPECT_EQ(changes.os_image, c.os_image) << c.name;
    EXPECT_EQ(changes.layered, c.layered) << c.name;
    EXPECT_EQ(changes.left_layering, c.left) << c.name;
  }
}

TEST(Verdict, ChangedNamesComeInADefiniteOrder) {
  const auto changes = find_spec_changes(
      comparable_from(
          spec_with_files({file_text("/etc/gone", "1"), file_text("/etc/b", "1"), file_text("/etc/same", "1")})),
      comparable_from(
          spec_with_files({file_text("/etc/new", "1"), file_text("/etc/same", "1"), file_text("/etc/b", "2")})));
  EXPECT_EQ(changes.changed_files, (std::vector<ChangedName>{{"/etc/new", ChangeKind::kAdded},
                                                             {"/etc/b", ChangeKind::kChanged},
                                                             {"/etc/gone", ChangeKind::kRemoved}}));
}

TEST(Verdict, TheUsersPolicyAndTheDrain) {
  DisruptionContext context;
  DisruptionPolicy user;
  user.files = {{"/etc/app", {{ActionType::kDrain, ""}, {ActionType::kRestart, "app.service"}}, PolicyOrigin::kUser}};
  user.ssh_key = PolicyEntry{"", {{ActionType::kReboot, ""}}, PolicyOrigin::kUser};
  context.policy = merged_policy(default_disruption_policy(), user);
  const json::Value app = spec_with_files({file_text("/etc/app/a.conf", "1")});
  DisruptionVerdict verdict = verdict_of(ignition_spec(""), app, context);
  EXPECT_EQ(names_of(verdict.actions), (std::vector<std::string>{"Drain", "Restart app.service"}));
  EXPECT_TRUE(verdict.drain);
  EXPECT_EQ(verdict.disruption, DisruptionClass::kDrain);
  EXPECT_EQ(verdict.causes[0].why, "the user's policy for /etc/app says Drain, Restart app.service");
  context.single_replica = true;
  verdict = verdict_of(ignition_spec(""), app, context);
  EXPECT_FALSE(verdict.drain);
  EXPECT_EQ(verdict.disruption, DisruptionClass::kRestart);
  const json::Value key = ignition_spec(R"("passwd":{"users":[{"name":"core","sshAuthorizedKeys":["k"]}]})");
  EXPECT_EQ(names_of(verdict_of(ignition_spec(""), key, context).actions), std::vector<std::string>{"Reboot"});
}

TEST(Verdict, RegistriesConfDecidesAboutTheDrain) {
  const auto spec = [](std::string_view toml) {
    return spec_with_files({file_text("/etc/containers/registries.conf", toml)});
  };
  const std::string one = "[[registry]]\nlocation = \"a\"\nmirror-by-digest-only = true\n";
  const DisruptionVerdict added = verdict_of(spec(""), spec(one));
  EXPECT_FALSE(added.drain);
  EXPECT_EQ(added.disruption, DisruptionClass::kReload);
  EXPECT_EQ(added.causes[0].why,
            "crio.service is reloaded and pods stay: it only adds what is pulled by digest or asked last");
  const DisruptionVerdict removed = verdict_of(spec(one), ignition_spec(""));
  EXPECT_TRUE(removed.drain);
  EXPECT_EQ(removed.disruption, DisruptionClass::kDrain);
  EXPECT_EQ(removed.causes[0].why, "crio.service is reloaded and pods must leave first: registry a was removed");
  EXPECT_FALSE(judge_disruption(comparable_from(spec(one)), comparable_from(spec("= broken"))).ok());
  json::Value rebooting = spec("= broken");
  rebooting.get_object()["osImageURL"] = "other";
  EXPECT_EQ(verdict_of(spec(one), rebooting).causes[1].why,
            "the default policy says reload crio.service, after a drain if its contents call for one");
  DisruptionContext single;
  single.single_replica = true;
  EXPECT_EQ(verdict_of(spec(one), ignition_spec(""), single).disruption, DisruptionClass::kReload);
}

TEST(Verdict, WhatCannotFollowDoesNothing) {
  const DisruptionVerdict verdict =
      verdict_of(ignition_spec(""), ignition_spec(R"("storage":{"directories":[{"path":"/etc/d"}]})"));
  EXPECT_EQ(verdict.disruption, DisruptionClass::kReinstall);
  EXPECT_EQ(verdict.irreconcilable->reason, "ignition directories section contains changes");
  EXPECT_TRUE(verdict.actions.empty());
  EXPECT_FALSE(verdict.drain);
}

TEST(ManagedTree, FilesUnitsDropinsMasksAndEnabledUnits) {
  const auto tree = managed_tree(from_text(R"({"config":{"ignition":{"version":"3.5.0"},
    "storage":{"files":[{"path":"/etc/f","mode":384,"contents":{"source":"data:,1"}}]},
    "systemd":{"units":[{"name":"a.service","enabled":true,"contents":"[Unit]\n[Install]\nWantedBy=multi-user.target other.target\n",
                         "dropins":[{"name":"10-x.conf","contents":"[Service]\n"}]},
                        {"name":"b.service","mask":true},{"name":"c.service","enabled":false,"contents":"[Install]\nWantedBy=x.target\n"}]}}})"));
  ASSERT_TRUE(tree.ok()) << tree.error().to_string();
  std::vector<std::string> paths;
  for (const auto& [path, entry] : *tree) paths.push_back(path);
  EXPECT_EQ(paths, (std::vector<std::string>{"/etc/f", "/etc/systemd/system/a.service",
                                             "/etc/systemd/system/a.service.d/10-x.conf",
                                             "/etc/systemd/system/b.service", "/etc/systemd/system/c.service",
                                             "/etc/systemd/system/multi-user.target.wants/a.service",
                                             "/etc/systemd/system/other.target.wants/a.service"}));
  EXPECT_EQ(tree->at("/etc/f").mode, 0600u);
  EXPECT_EQ(tree->at("/etc/systemd/system/b.service").contents, "/dev/null");
  EXPECT_EQ(tree->at("/etc/systemd/system/multi-user.target.wants/a.service").contents,
            "/etc/systemd/system/a.service");
}

}  // namespace strake::machineconfig::disruption_test
