#include "machineconfig/disruption.h"

#include <gtest/gtest.h>

#include "machineconfig/managed_tree.h"

namespace strake::machineconfig::disruption_test {

json::Value spec_from(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value.ok()) << (value.ok() ? "" : value.error().to_string());
  return *std::move(value);
}

constexpr std::string_view kBase =
    R"({"osImageURL":"a","kernelArguments":["x"],"fips":false,"kernelType":"default","extensions":[],
        "config":{"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"/etc/f","contents":{"source":"data:,1"}}]},
                  "systemd":{"units":[{"name":"u.service","contents":"[Unit]\n"}]}}})";

TEST(Disruption, EachChangeHasItsClassAndReason) {
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
  const json::Value base = spec_from(kBase);
  for (const Case& test : cases) {
    json::Value changed = base;
    changed.get_object()[test.path] = spec_from(test.value);
    const auto consequence = consequence_of(&base, changed);
    ASSERT_TRUE(consequence.ok());
    EXPECT_EQ(consequence->disruption, test.disruption) << test.reason;
    EXPECT_EQ(consequence->reasons, std::vector<std::string>{test.reason});
  }
}

TEST(Disruption, WhatThePlatformChangesLiveCostsNothing) {
  const json::Value base = spec_from(kBase);
  json::Value changed = base;
  json::find(changed, {"config", "storage", "files"})
      ->get_array()
      .push_back(spec_from(R"({"path":"/var/lib/kubelet/config.json","contents":{"source":"data:,secret"}})"));
  const auto consequence = consequence_of(&base, changed);
  ASSERT_TRUE(consequence.ok());
  EXPECT_EQ(consequence->disruption, DisruptionClass::kNone);
  EXPECT_EQ(consequence->reasons.size(), 1u);
}

TEST(Disruption, EqualContentsInAnotherEncodingAreNoChange) {
  const json::Value base = spec_from(kBase);
  json::Value encoded = base;
  json::find(encoded, {"config", "storage", "files"})->get_array()[0] =
      spec_from(R"({"path":"/etc/f","contents":{"source":"data:;base64,MQ=="}})");
  EXPECT_TRUE(consequence_of(&base, encoded)->reasons.empty());
}

TEST(Disruption, FipsCannotChangeAndAFirstConfigReboots) {
  const json::Value base = spec_from(kBase);
  json::Value fips = base;
  fips.get_object()["fips"] = true;
  EXPECT_FALSE(consequence_of(&base, fips).ok());
  EXPECT_EQ(consequence_of(nullptr, base)->disruption, DisruptionClass::kReboot);
}

TEST(ManagedTree, FilesUnitsDropinsMasksAndEnabledUnits) {
  const auto tree = managed_tree(spec_from(R"({"config":{"ignition":{"version":"3.5.0"},
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
