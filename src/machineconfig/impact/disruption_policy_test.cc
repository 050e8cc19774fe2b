#include "machineconfig/impact/disruption_policy.h"

#include <gtest/gtest.h>

#include "machineconfig/testing/spec_text.h"

namespace strake::machineconfig::disruption_policy_test {

using builders::from_text;

PolicyEntry entry(std::string target, ActionType type, std::string service = "") {
  return {std::move(target), {{type, std::move(service)}}, PolicyOrigin::kUser};
}

TEST(DisruptionPolicy, TheClosestPathWins) {
  DisruptionPolicy policy;
  for (const char* path : {"/etc/test1.conf", "/etc/dir1", "/etc/dir1/dir2", "/etc/dir1/dir2/test.conf", "/etc/slash/",
                           "/opt/./odd//path", "/", "/var/exact"}) {
    policy.files.push_back(entry(path, ActionType::kNone));
  }
  const struct {
    const char* path;
    const char* expected;  ///< the policy's path; nullptr when none covers it
  } cases[] = {
      {"/etc/test1.conf", "/etc/test1.conf"},
      {"/etc/test1.conf.d", nullptr},
      {"/etc/test2.conf", nullptr},
      {"/etc/dir1/a", "/etc/dir1"},
      {"/etc/dir1/x/y/z", "/etc/dir1"},
      {"/etc/dir1/dir2/a", "/etc/dir1/dir2"},
      {"/etc/dir1/dir2/test.conf", "/etc/dir1/dir2/test.conf"},
      {"/etc/dir11/a", nullptr},
      {"/etc/dir1", "/etc/dir1"},
      {"/etc/slash/a", "/etc/slash/"},
      {"/etc/slash", nullptr},
      {"/opt/odd/path/a", "/opt/./odd//path"},
      {"/anything", nullptr},
      {"/var/exact/below", "/var/exact"},
  };
  for (const auto& c : cases) {
    const PolicyEntry* found = find_file_policy(policy, c.path);
    EXPECT_STREQ(found == nullptr ? nullptr : found->target.c_str(), c.expected) << c.path;
  }
}

TEST(DisruptionPolicy, Defaults) {
  const DisruptionPolicy& policy = default_disruption_policy();
  const struct {
    const char* path;
    std::vector<std::string> actions;
  } cases[] = {
      {"/var/lib/kubelet/config.json", {"None"}},
      {"/etc/machine-config-daemon/no-reboot/containers-gpg.pub", {"Reload crio.service"}},
      {"/etc/containers/policy.json", {"Reload crio.service"}},
      {"/etc/containers/registries.conf", {"Special"}},
      {"/etc/containers/registries.d/sub/x.yaml", {"Reload crio.service"}},
      {"/etc/crio/policies/ns.json", {"Reload crio.service"}},
      {"/etc/nmstate/openshift/cluster.yml", {"None"}},
      {"/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt",
       {"Restart coreos-update-ca-trust.service", "Restart crio.service"}},
      {"/etc/kubernetes/credential-providers/ecr.yaml", {"Restart kubelet.service"}},
      {"/etc/systemd/system/kubelet.service.d/40-kubelet-crio-image-credential-provider.conf",
       {"DaemonReload", "Restart kubelet.service"}},
      {"/etc/iri-registry/certs/tls.crt", {"Restart iri-registry.service"}},
      {"/usr/local/bin/load-registry-image.sh", {"Restart iri-registry.service"}},
      {"/etc/pki/ca-trust/source/anchors/iri-root-ca.crt", {"Restart coreos-update-ca-trust.service"}},
  };
  EXPECT_EQ(policy.files.size(), std::size(cases));
  for (const auto& c : cases) {
    const PolicyEntry* found = find_file_policy(policy, c.path);
    ASSERT_NE(found, nullptr) << c.path;
    std::vector<std::string> names;
    for (const PolicyAction& action : found->actions) names.push_back(action.to_string());
    EXPECT_EQ(names, c.actions) << c.path;
  }
  EXPECT_EQ(find_unit_policy(policy, "iri-registry.service")->actions.size(), 2u);
  EXPECT_EQ(find_unit_policy(policy, "crio.service"), nullptr);
  EXPECT_EQ(policy.ssh_key->actions[0].to_string(), "None");
}

TEST(DisruptionPolicy, RefusalsNameTheMember) {
  const struct {
    const char* name;
    std::string policy;
    const char* message;
  } cases[] = {
      {"unknown type", R"({"files":[{"path":"/a","actions":[{"type":"Kexec"}]}]})",
       "files[0].actions[0].type: 'Kexec' is not Reboot, Drain, Reload, Restart, DaemonReload or None"},
      {"Special is not for users", R"({"files":[{"path":"/a","actions":[{"type":"Special"}]}]})",
       "files[0].actions[0].type: 'Special' is not*"},
      {"Reboot with others", R"({"files":[{"path":"/a","actions":[{"type":"Drain"},{"type":"Reboot"}]}]})",
       "files[0].actions: Reboot cannot be combined with other actions"},
      {"None with others", R"({"sshkey":{"actions":[{"type":"None"},{"type":"Drain"}]}})",
       "sshkey.actions: None cannot be combined with other actions"},
      {"Reload of nothing", R"({"units":[{"name":"a.service","actions":[{"type":"Reload"}]}]})",
       "units[0].actions[0]: 'reload' is given exactly when the type is Reload"},
      {"Drain with a service",
       R"({"files":[{"path":"/a","actions":[{"type":"Drain","restart":{"serviceName":"a.service"}}]}]})",
       "files[0].actions[0]: 'restart' is given exactly when the type is Restart"},
      {"a service that is none",
       R"({"files":[{"path":"/a","actions":[{"type":"Restart","restart":{"serviceName":"rm -rf"}}]}]})",
       "files[0].actions[0].restart.serviceName: 'rm -rf' is not the name of a unit"},
      {"no path", R"({"files":[{"actions":[]}]})", "files[0].path: is missing"},
      {"no unit name", R"({"units":[{"name":"crio","actions":[{"type":"None"}]}]})",
       "units[0].name: 'crio' is not the name of a unit"},
      {"twice the same", R"({"files":[{"path":"/a","actions":[]},{"path":"/a","actions":[]}]})",
       "files[1]: a second policy for /a"},
      {"no actions", R"({"files":[{"path":"/a"}]})", "files[0].actions: a list of actions is needed"},
      {"not a list", R"({"files":{}})", "files: expected a list"},
      {"not an object", "[]", "a disruption policy is an object"},
  };
  for (const auto& c : cases) {
    const auto parsed = parse_disruption_policy(from_text(c.policy), PolicyPlace::kSpec);
    ASSERT_FALSE(parsed.ok()) << c.name;
    std::string_view expected = c.message;
    std::string actual = parsed.error().to_string();
    if (expected.ends_with('*')) {
      expected.remove_suffix(1);
      actual = actual.substr(0, expected.size());
    }
    EXPECT_EQ(actual, expected) << c.name;
  }
}

TEST(DisruptionPolicy, Limits) {
  const auto policy_of = [](int files, int actions) {
    json::Array list, chosen;
    for (int i = 0; i < actions; ++i) chosen.push_back(json::Object{{"type", "DaemonReload"}});
    for (int i = 0; i < files; ++i) {
      list.push_back(json::Object{{"path", fmt::format("/f{}", i)}, {"actions", chosen}});
    }
    return json::Value(json::Object{{"files", list}});
  };
  EXPECT_TRUE(parse_disruption_policy(policy_of(50, 10), PolicyPlace::kSpec).ok());
  EXPECT_EQ(parse_disruption_policy(policy_of(51, 1), PolicyPlace::kSpec).error().message(),
            "files: more than 50 entries");
  EXPECT_EQ(parse_disruption_policy(policy_of(1, 11), PolicyPlace::kSpec).error().message(),
            "files[0].actions: more than 10 actions");
  EXPECT_TRUE(parse_disruption_policy(policy_of(100, 1), PolicyPlace::kStatus).ok());
}

TEST(DisruptionPolicy, TheUsersEntriesReplaceAndExtendTheDefaults) {
  DisruptionPolicy user;
  user.files = {entry("/etc/containers/policy.json", ActionType::kReboot), entry("/etc/mine", ActionType::kDrain)};
  user.units = {entry("mine.service", ActionType::kReload, "mine.service")};
  const DisruptionPolicy merged = merged_policy(default_disruption_policy(), user);
  EXPECT_EQ(merged.files.size(), default_disruption_policy().files.size() + 1);
  EXPECT_EQ(*find_file_policy(merged, "/etc/containers/policy.json"), user.files[0]);
  EXPECT_EQ(*find_file_policy(merged, "/etc/mine/a"), user.files[1]);
  EXPECT_EQ(*find_unit_policy(merged, "mine.service"), user.units[0]);
  EXPECT_EQ(merged.ssh_key, default_disruption_policy().ssh_key);
  user.ssh_key = entry("", ActionType::kReboot);
  EXPECT_EQ(merged_policy(default_disruption_policy(), user).ssh_key, user.ssh_key);
}

TEST(DisruptionPolicy, ItsJsonFormIsReadBack) {
  const auto read = parse_disruption_policy(to_json(default_disruption_policy()), PolicyPlace::kStatus);
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(*read, default_disruption_policy());
}

TEST(DisruptionPolicy, TheStatusCountsOnceItHasCaughtUp) {
  json::Value object = from_text(R"({"metadata":{"generation":4},
    "spec":{"nodeDisruptionPolicy":{"files":[{"path":"/etc/mine","actions":[{"type":"None"}]}]}},
    "status":{"observedGeneration":3,"nodeDisruptionPolicyStatus":{"clusterPolicies":
      {"files":[{"path":"/etc/old","actions":[{"type":"Special"}]}]}}}})");
  auto policy = effective_policy(object);
  ASSERT_TRUE(policy.ok()) << policy.error().to_string();
  EXPECT_NE(find_file_policy(*policy, "/etc/mine"), nullptr);
  EXPECT_NE(find_file_policy(*policy, "/etc/containers/policy.json"), nullptr);
  json::ensure(object, {"status", "observedGeneration"}) = 4;
  policy = effective_policy(object);
  ASSERT_TRUE(policy.ok()) << policy.error().to_string();
  EXPECT_EQ(find_file_policy(*policy, "/etc/mine"), nullptr);
  ASSERT_NE(find_file_policy(*policy, "/etc/old"), nullptr);
  EXPECT_EQ(find_file_policy(*policy, "/etc/old")->origin, PolicyOrigin::kUser);
  EXPECT_EQ(*effective_policy(from_text("{}")), default_disruption_policy());
  EXPECT_EQ(effective_policy(from_text(R"({"spec":{"nodeDisruptionPolicy":{"files":[{}]}}})")).error().to_string(),
            "spec.nodeDisruptionPolicy: files[0].path: is missing");
}

}  // namespace strake::machineconfig::disruption_policy_test
