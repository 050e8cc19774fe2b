#include "machineconfig/impact/reconcile.h"

#include <gtest/gtest.h>

#include "machineconfig/testing/spec_text.h"

namespace strake::machineconfig::reconcile_test {

using builders::from_text;
using builders::ignition_spec;

/// "ok", the reason, or "error: ..."
std::string outcome(const json::Value& before, const json::Value& after, const ReconcileOverrides& overrides = {}) {
  const auto refusal = check_reconcilable(before, after, overrides);
  if (!refusal.ok()) return "error: " + refusal.error().to_string();
  return *refusal ? (*refusal)->reason : "ok";
}

struct Case {
  const char* name;
  std::string before;  ///< members of the Ignition config
  std::string after;
  std::string expected;
  const char* subject = "";
};

void expect_outcomes(std::span<const Case> cases) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const json::Value before = ignition_spec(c.before), after = ignition_spec(c.after);
    EXPECT_EQ(outcome(before, after), c.expected);
    const auto refusal = check_reconcilable(before, after);
    EXPECT_EQ(refusal.ok() && *refusal ? (*refusal)->subject.to_string() : "", c.subject);
  }
}

constexpr const char* kGroups = "invalid passwd change(s): ignition Passwd Groups section contains changes";
constexpr const char* kNonCore =
    "invalid passwd change(s): ignition passwd user section contains unsupported changes: non-core user";
constexpr const char* kNoKey =
    "invalid passwd change(s): ignition passwd user section contains unsupported changes: user must be core and have 1 "
    "or more sshKeys";
constexpr const char* kOtherFields = "invalid passwd change(s): SSH keys and password hash are not reconcilable";

std::string users(std::string_view list) { return fmt::format(R"("passwd":{{"users":[{}]}})", list); }
std::string storage(std::string_view members) { return fmt::format(R"("storage":{{{}}})", members); }

TEST(Reconcile, UsersAndKeys) {
  const std::string core = R"({"name":"core","sshAuthorizedKeys":["1234"]})";
  const Case cases[] = {
      {"nothing changes", users(core), users(core), "ok"},
      {"adding core with keys", "", users(core), "ok"},
      {"another key", users(core), users(R"({"name":"core","sshAuthorizedKeys":["5678","abc"]})"), "ok"},
      {"core becomes another user", users(core), users(R"({"name":"not-core","sshAuthorizedKeys":["1"]})"), kNonCore,
       "user not-core"},
      {"core with a home", users(core), users(R"({"name":"core","homeDir":"somedir","sshAuthorizedKeys":["1"]})"),
       kOtherFields, "user core"},
      {"a second user", users(core), users(core + R"(,{"name":"another-user","sshAuthorizedKeys":["5678"]})"), kNonCore,
       "user another-user"},
      {"core loses its keys", users(core), users(R"({"name":"core","sshAuthorizedKeys":[]})"), kNoKey, "user core"},
      {"core without anything", users(core), users(R"({"name":"core"})"), kNoKey, "user core"},
      {"a password instead", users(core), users(R"({"name":"core","passwordHash":"$6$x"})"), "ok"},
      {"an empty password counts as one", users(core), users(R"({"name":"core","passwordHash":""})"), "ok"},
      {"a list that is empty is still set", users(core),
       users(R"({"name":"core","sshAuthorizedKeys":["1"],"groups":[]})"), kOtherFields, "user core"},
      {"the users removed", users(core), "", "ok"},
      {"the list emptied", users(core), users(""), "ok"},
      {"an unchanged user that is not core", users(R"({"name":"other","uid":7})"), users(R"({"name":"other","uid":7})"),
       "ok"},
      {"groups change", R"("passwd":{"groups":[{"name":"g"}]})", R"("passwd":{"groups":[{"name":"h"}]})", kGroups,
       "group h"},
      {"an empty list of groups against none", "", R"("passwd":{"groups":[]})", kGroups,
       "Ignition section passwd.groups"},
      {"groups come before users", "", R"("passwd":{"groups":[{"name":"g"}],"users":[{"name":"x"}]})", kGroups,
       "group g"},
  };
  expect_outcomes(cases);
}

TEST(Reconcile, Sections) {
  const std::string disk = R"("disks":[{"device":"/dev/sda"}])";
  const std::string link = R"("links":[{"path":"/etc/l","target":"/etc/t"}])";
  const Case cases[] = {
      {"Ignition kernel arguments", "", R"("kernelArguments":{"shouldExist":["a"]})",
       "ignition kargs section contains changes", "Ignition section kernelArguments"},
      {"an empty object is none", "", R"("kernelArguments":{},"passwd":{},"storage":{})", "ok"},
      {"disks", storage(disk), storage(R"("disks":[{"device":"/dev/sdb"}])"), "ignition disks section contains changes",
       "Ignition section storage.disks"},
      {"disks, empty against none", "", storage(R"("disks":[])"), "ignition disks section contains changes",
       "Ignition section storage.disks"},
      {"filesystems, empty against none", storage(R"("filesystems":[])"), "",
       "ignition filesystems section contains changes", "Ignition section storage.filesystems"},
      {"raid", "", storage(R"("raid":[{"name":"data","level":"stripe","devices":["/dev/vda"]}])"),
       "ignition raid section contains changes", "Ignition section storage.raid"},
      {"raid, empty against none", "", storage(R"("raid":[])"), "ignition raid section contains changes",
       "Ignition section storage.raid"},
      {"directories", "", storage(R"("directories":[{"path":"/etc/d"}])"),
       "ignition directories section contains changes", "directory /etc/d"},
      {"directories, empty against none", "", storage(R"("directories":[])"),
       "ignition directories section contains changes", "Ignition section storage.directories"},
      {"a link", "", storage(link), "ignition links section contains changes", "link /etc/l"},
      {"all links removed", storage(link), "", "ok"},
      {"links emptied", storage(link), storage(R"("links":[])"), "ok"},
      {"append", "", storage(R"("files":[{"path":"/etc/a","append":[{"source":"data:,x"}]}])"),
       "ignition file /etc/a includes append", "file /etc/a"},
      {"an unchanged append is refused as well",
       storage(R"("files":[{"path":"/etc/a","append":[{"source":"data:,x"}]}])"),
       storage(R"("files":[{"path":"/etc/a","append":[{"source":"data:,x"}]}])"),
       "ignition file /etc/a includes append", "file /etc/a"},
      {"an empty append appends nothing", "", storage(R"("files":[{"path":"/etc/a","append":[]}])"), "ok"},
      {"the force file", "",
       storage(R"("files":[{"path":"/run/machine-config-daemon-force","contents":{"source":"data:,"}}])"),
       "cannot create /run/machine-config-daemon-force via Ignition", "file /run/machine-config-daemon-force"},
      {"luks passes unseen", "",
       storage(
           R"("luks":[{"name":"l","device":"/dev/sdb","clevis":{"tang":[{"url":"https://tang.example.com","thumbprint":"x"}]}}])"),
       "ok"},
      {"disks come before directories", "", storage(disk + R"(,"directories":[{"path":"/etc/d"}])"),
       "ignition disks section contains changes", "Ignition section storage.disks"},
      {"files and units change freely", "",
       R"("storage":{"files":[{"path":"/etc/a","contents":{"source":"data:,x"}}]},"systemd":{"units":[{"name":"a.service","contents":"[Unit]\n"}]})",
       "ok"},
  };
  expect_outcomes(cases);
}

TEST(Reconcile, TheIgnitionSectionPassesUnseen) {
  const json::Value before = ignition_spec("");
  const json::Value after = from_text(
      R"({"config":{"ignition":{"version":"3.4.0","proxy":{"httpProxy":"http://p"},"timeouts":{"httpTotal":1}}}})");
  EXPECT_EQ(outcome(before, after), "ok");
}

TEST(Reconcile, FipsComesLast) {
  json::Value before = ignition_spec(""), after = before;
  after.get_object()["fips"] = true;
  EXPECT_EQ(outcome(before, after), "detected change to FIPS flag; refusing to modify FIPS on a running cluster");
  json::Value with_disks = ignition_spec(storage(R"("disks":[{"device":"/dev/sda"}])"));
  with_disks.get_object()["fips"] = true;
  EXPECT_EQ(outcome(before, with_disks), "ignition disks section contains changes");
  before.get_object()["fips"] = false;
  EXPECT_EQ(outcome(before, ignition_spec("")), "ok");
}

TEST(Reconcile, OverridesReleaseTheirSection) {
  const struct {
    const char* section;
    ReconcileOverrides overrides;
    std::string after;
  } cases[] = {
      {"disks", {.disks = true}, R"("disks":[{"device":"/dev/sda"}])"},
      {"filesystems", {.file_systems = true}, R"("filesystems":[{"device":"/dev/sda1","format":"xfs","path":"/var"}])"},
      {"raid", {.raid = true}, R"("raid":[{"name":"data","level":"stripe","devices":["/dev/vda"]}])"},
  };
  for (const auto& c : cases) {
    const json::Value before = ignition_spec(""), after = ignition_spec(storage(c.after));
    EXPECT_EQ(outcome(before, after), fmt::format("ignition {} section contains changes", c.section));
    EXPECT_EQ(outcome(before, after, c.overrides), "ok") << c.section;
    for (const auto& other : cases) {
      if (&other == &c) continue;
      EXPECT_NE(outcome(before, after, other.overrides), "ok") << c.section;
    }
  }
}

TEST(Reconcile, OverridesOfAMachineConfiguration) {
  const auto read = [](std::string_view list) {
    return reconcile_overrides(
        from_text(fmt::format(R"({{"spec":{{"irreconcilableValidationOverrides":{{"storage":{}}}}}}})", list)));
  };
  EXPECT_EQ(*read(R"(["Disks","Raid"])"), (ReconcileOverrides{.disks = true, .raid = true}));
  EXPECT_EQ(*read(R"(["FileSystems"])"), (ReconcileOverrides{.file_systems = true}));
  EXPECT_EQ(*reconcile_overrides(from_text("{}")), ReconcileOverrides{});
  EXPECT_EQ(read(R"(["Luks"])").error().to_string(),
            "spec.irreconcilableValidationOverrides.storage: 'Luks' is not Disks, FileSystems or Raid");
}

TEST(Reconcile, WhatIsNotAConfigIsAnError) {
  const json::Value good = ignition_spec("");
  const json::Value bad = from_text(R"({"config":{"ignition":{"version":"4.0.0-experimental"}}})");
  EXPECT_TRUE(outcome(good, bad).starts_with("error: new config: spec.config: ")) << outcome(good, bad);
  EXPECT_TRUE(outcome(bad, good).starts_with("error: old config: spec.config: ")) << outcome(bad, good);
  EXPECT_EQ(outcome(good, ignition_spec(storage(R"("files":[{"path":"/etc/a","mode":1023}])"))),
            "error: new config: spec.config: file /etc/a: mode 01777 cannot exceed 0777");
}

class RefusedRenderTest : public ::testing::Test {
 protected:
  kube::ObjectPtr component(const std::string& name, const json::Value& spec) {
    return std::make_shared<const kube::Object>(
        json::Object{{"metadata", json::Object{{"name", name}}}, {"spec", spec}});
  }

  std::string message(const json::Value& current, const json::Value& merged,
                      const std::vector<kube::ObjectPtr>& components) {
    const auto refusal = check_reconcilable(current, merged);
    EXPECT_TRUE(refusal.ok() && *refusal);
    return refusal_message({"rendered-worker-1", current, "rendered-worker-2", components, {}}, **refusal);
  }
};

TEST_F(RefusedRenderTest, NamesTheComponentThatBringsIt) {
  const json::Value disks = ignition_spec(storage(R"("disks":[{"device":"/dev/sda"}])"));
  EXPECT_EQ(
      message(ignition_spec(""), disks, {component("00-worker", ignition_spec("")), component("99-disks", disks)}),
      "reconciliation failed between current config \"rendered-worker-1\" and base config \"99-disks\": ignition "
      "disks section contains changes");
}

TEST_F(RefusedRenderTest, InnocentComponentsThatLackTheSectionAreNotNamed) {
  const json::Value before = ignition_spec(storage(R"("directories":[{"path":"/etc/d"}])"));
  const json::Value after = ignition_spec(storage(R"("directories":[{"path":"/etc/d"},{"path":"/etc/e"}])"));
  const json::Value extra = ignition_spec(storage(R"("directories":[{"path":"/etc/e"}])"));
  EXPECT_EQ(message(before, after,
                    {component("00-worker", before), component("50-other", ignition_spec("")),
                     component("99-folders", extra)}),
            "reconciliation failed between current config \"rendered-worker-1\" and base config \"99-folders\": "
            "ignition directories section contains changes");
}

TEST_F(RefusedRenderTest, WhenNoComponentDoesItAlone) {
  json::Value fips = ignition_spec("");
  fips.get_object()["fips"] = true;
  json::Value current = ignition_spec("");
  EXPECT_EQ(message(current, fips,
                    {component("00-worker", ignition_spec("")),
                     component("99-groups", ignition_spec(R"("passwd":{"groups":[{"name":"g"}]})"))}),
            "render reconciliation error: new machineconfig \"rendered-worker-2\" is not reconcilable against "
            "\"rendered-worker-1\": detected change to FIPS flag; refusing to modify FIPS on a running cluster; "
            "component errors: [99-groups: invalid passwd change(s): ignition Passwd Groups section contains changes]");
}

}  // namespace strake::machineconfig::reconcile_test
