#include "ignition/butane/butane.h"

#include <gtest/gtest.h>

#include <map>

#include "codec/data_url.h"
#include "ignition/butane/embed.h"
#include "ignition/butane/typed_scalar.h"

namespace strake::ignition::butane_test {

class MemoryFiles final : public LocalFiles {
 public:
  std::map<std::string, std::string> files;

  Result<std::string> read(const std::string& path) override {
    const auto found = files.find(path);
    if (found == files.end()) return error(Code::kNotFound, "{} is not there", path);
    return found->second;
  }
  Result<std::vector<LocalEntry>> walk(const std::string& path) override {
    std::vector<LocalEntry> entries;
    for (const auto& [name, contents] : files) {
      if (!name.starts_with(path + "/")) continue;
      LocalEntry entry;
      entry.path = name.substr(path.size() + 1);
      entry.contents = contents;
      entries.push_back(entry);
    }
    return entries;
  }
};

constexpr std::string_view kRole = "machineconfiguration.openshift.io/role";

ButaneResult translated(std::string_view text, LocalFiles* files = nullptr) {
  const auto documents = yaml::parse_nodes(text);
  EXPECT_TRUE(documents.ok()) << documents.error().to_string();
  return translate_butane(documents->front(), {.files = files, .role_label = kRole});
}

/// "7: storage.files[0].mode: ..." of the first error or warning.
std::string first_finding(const ButaneResult& result) {
  if (result.report.findings.empty()) return "";
  const Finding& finding = result.report.findings.front();
  return fmt::format("{}: {}", finding.position->line, finding.to_string());
}

TEST(Butane, IsTold) {
  EXPECT_TRUE(is_butane(*json::parse(R"({"variant":"fcos"})")));
  EXPECT_TRUE(is_butane(*json::parse(R"({"variant":5})")));
  EXPECT_FALSE(is_butane(*json::parse(R"({"variant":"x","kind":"Pod"})")));
  EXPECT_FALSE(is_butane(*json::parse(R"({"variant":"x","ignition":{"version":"3.4.0"}})")));
  EXPECT_FALSE(is_butane(*json::parse(R"([])")));
}

TEST(Butane, EveryVersionGivesItsSpec) {
  const std::map<std::string, std::string> specs{
      {"fcos 1.0.0", "3.0.0"},       {"fcos 1.1.0", "3.1.0"},       {"fcos 1.2.0", "3.2.0"},
      {"fcos 1.3.0", "3.2.0"},       {"fcos 1.4.0", "3.3.0"},       {"fcos 1.5.0", "3.4.0"},
      {"fcos 1.6.0", "3.5.0"},       {"openshift 4.8.0", "3.2.0"},  {"openshift 4.9.0", "3.2.0"},
      {"openshift 4.10.0", "3.2.0"}, {"openshift 4.11.0", "3.2.0"}, {"openshift 4.12.0", "3.2.0"},
      {"openshift 4.13.0", "3.2.0"}, {"openshift 4.14.0", "3.4.0"}, {"openshift 4.15.0", "3.4.0"},
      {"openshift 4.16.0", "3.4.0"}, {"openshift 4.17.0", "3.4.0"}, {"openshift 4.18.0", "3.4.0"}};
  for (const auto& [name, spec] : specs) {
    const std::size_t blank = name.find(' ');
    const ButaneResult result = translated(fmt::format(
        "variant: {}\nversion: {}\n{}", name.substr(0, blank), name.substr(blank + 1),
        name.starts_with("open") ? "metadata: {name: a, labels: {machineconfiguration.openshift.io/role: w}}\n" : ""));
    EXPECT_FALSE(result.report.is_fatal()) << name << first_finding(result);
    EXPECT_EQ(json::find_string(result.config, {"ignition", "version"}), spec) << name;
    EXPECT_EQ(result.is_machine_config(), name.starts_with("openshift")) << name;
  }
}

TEST(Butane, WhatIsNotTakenIsRefusedByName) {
  struct Case {
    std::string_view text;
    std::string_view finding;
  };
  for (const Case& refused : {
           Case{"variant: flatcar\nversion: 1.0.0\n",
                "1: variant: 'flatcar' is not taken; known are fcos and openshift"},
           Case{"a: 1\nversion: 1.7.0-experimental\nvariant: fcos\n",
                "2: version: variant fcos has no version '1.7.0-experimental' here; known are 1.0.0, 1.1.0, 1.2.0, "
                "1.3.0, "
                "1.4.0, 1.5.0, 1.6.0"},
           Case{"variant: fcos\nversion: 1.5.0\n\nboot_device:\n  luks: {tpm2: true}\n",
                "4: boot_device: is not taken here; translate this config with butane and give its result"},
           Case{"variant: fcos\nversion: 1.5.0\ngrub: {users: [{name: a}]}\n",
                "3: grub: is not taken here; translate this config with butane and give its result"},
           Case{"variant: fcos\nversion: 1.5.0\nstorage:\n  filesystems:\n    - device: /dev/sda\n",
                "4: storage.filesystems: is not taken here; translate this config with butane and give its result"},
       }) {
    const ButaneResult result = translated(refused.text);
    EXPECT_TRUE(result.report.is_fatal());
    EXPECT_TRUE(result.config.is_null());
    EXPECT_EQ(first_finding(result), refused.finding);
  }
}

TEST(Butane, FindingsNameLineAndMemberAndNoContents) {
  constexpr std::string_view kHead = "variant: fcos\nversion: 1.5.0\n";
  struct Case {
    std::string_view text;
    std::string_view finding;
  };
  for (const Case& wrong : {
           Case{"storage:\n  files:\n    - path: /a\n      mode: topsecret\n",
                "6: storage.files[0].mode: expected an integer, found text"},
           Case{"storage:\n  files:\n    - path: /a\n      mode: 644\n",
                "6: storage.files[0].mode: unreasonable, but reasonable if its digits are meant to be octal; begin it "
                "with a zero"},
           Case{"passwd:\n  users:\n    - name: core\n      password: topsecret\n",
                "6: passwd.users[0].password: unused key password"},
           Case{"storage:\n  files:\n    - path: /a\n      contents:\n        local: x\n",
                "7: storage.files[0].contents.local: local paths count from a folder that must be given with "
                "--files-dir"},
           Case{"storage:\n  files:\n    - path: a\n      contents: {inline: topsecret}\n",
                "5: storage.files[0].path: path not absolute: 'a'"},
           Case{"systemd:\n  units:\n    - name: a.service\n      contents: |\n        [Service]\n        topsecret\n",
                ""},
       }) {
    const ButaneResult result = translated(std::string(kHead) + std::string(wrong.text));
    if (!wrong.finding.empty()) {
      EXPECT_EQ(first_finding(result), wrong.finding);
    }
    for (const Finding& finding : result.report.findings) {
      EXPECT_EQ(finding.to_string().find("topsecret"), std::string::npos) << finding.to_string();
    }
  }
}

TEST(Butane, LocalFilesAndTrees) {
  MemoryFiles files;
  files.files = {{"a", "A"}, {"unit", "[Unit]\n"}, {"keys", "k1\r\n\nk2"}, {"t/etc/x", "X"}, {"bad", "\xFF"}};
  const ButaneResult result = translated(
      "variant: fcos\nversion: 1.5.0\nstorage:\n  files:\n    - {path: /a, contents: {local: ./b/../a}}\n"
      "    - {path: /o/etc/x, mode: 0600}\n  trees: [{local: t, path: /o/}]\n"
      "systemd: {units: [{name: a.service, contents_local: unit}]}\n"
      "passwd: {users: [{name: core, ssh_authorized_keys: [k0], ssh_authorized_keys_local: [keys]}]}\n",
      &files);
  ASSERT_FALSE(result.report.is_fatal()) << first_finding(result);
  EXPECT_EQ(json::write_canonical(*json::find(result.config, {"storage", "files"})),
            R"([{"contents":{"compression":"","source":"data:,A"},"path":"/a"},)"
            R"({"contents":{"compression":"","source":"data:,X"},"mode":384,"path":"/o/etc/x"}])");
  EXPECT_EQ(json::write(*json::find(result.config, {"passwd", "users"})),
            R"([{"name":"core","sshAuthorizedKeys":["k0","k1","k2"]}])");
  for (const std::string_view local : {"../a", "b/../../a", "..", "missing"}) {
    const ButaneResult refused = translated(
        fmt::format("variant: fcos\nversion: 1.5.0\nstorage: {{files: [{{path: /a, contents: {{local: {}}}}}]}}\n",
                    local),
        &files);
    EXPECT_TRUE(refused.report.is_fatal()) << local;
  }
  EXPECT_TRUE(
      translated("variant: fcos\nversion: 1.5.0\nsystemd: {units: [{name: a.service, contents_local: bad}]}\n", &files)
          .report.is_fatal());
}

TEST(Butane, MembersOfNewerVersionsAreMisspellingsInOlderOnes) {
  MemoryFiles files;
  files.files = {{"unit", "[Unit]\n"}};
  const ButaneResult result = translated(
      "variant: fcos\nversion: 1.3.0\nkernel_arguments: {should_exist: [a]}\n"
      "systemd: {units: [{name: a.service, contents_local: unit}]}\n",
      &files);
  EXPECT_FALSE(result.report.is_fatal());
  EXPECT_EQ(result.report.findings.size(), 2u);
  EXPECT_EQ(first_finding(result), "3: kernel_arguments: unused key kernel_arguments");
  EXPECT_EQ(json::find(result.config, {"kernelArguments"}), nullptr);
}

TEST(Butane, FieldsOfAMachineConfigAreFoundInTheButaneConfig) {
  using Steps = json::Steps;
  EXPECT_EQ(butane_field({"spec", "config", "storage", "files", "[2]", "user"}),
            (Steps{"storage", "files", "[2]", "user"}));
  EXPECT_EQ(butane_field({"spec", "config", "passwd", "users", "[0]", "sshAuthorizedKeys"}),
            (Steps{"passwd", "users", "[0]", "ssh_authorized_keys"}));
  EXPECT_EQ(butane_field({"spec", "kernelArguments", "[1]"}), (Steps{"openshift", "kernel_arguments", "[1]"}));
  EXPECT_EQ(butane_field({"metadata", "labels"}), (Steps{"metadata", "labels"}));
}

TEST(Butane, DecimalModes) {
  for (const int mode : {400, 440, 444, 500, 600, 640, 644, 664, 700, 750, 755, 775, 777, 2755, 4755}) {
    EXPECT_TRUE(is_decimal_mode(mode, false)) << mode;
  }
  for (const int mode : {0, 0644, 0755, 0600, 0400, 04755, 8, 1644, 9999, -1}) {
    EXPECT_FALSE(is_decimal_mode(mode, false)) << mode;
  }
  for (const int mode : {500, 700, 755, 1777, 2775}) EXPECT_TRUE(is_decimal_mode(mode, true)) << mode;
  for (const int mode : {600, 644, 0755, 01777, 4755}) EXPECT_FALSE(is_decimal_mode(mode, true)) << mode;
}

TEST(Butane, TypedScalars) {
  const auto plain = [](std::string text) {
    yaml::Node node;
    node.kind = yaml::Node::Kind::kScalar;
    node.is_plain = true;
    node.text = std::move(text);
    return node;
  };
  const std::map<std::string, std::optional<std::int64_t>> integers{{"0", 0},
                                                                    {"420", 420},
                                                                    {"0644", 420},
                                                                    {"0o644", 420},
                                                                    {"0x1A4", 420},
                                                                    {"0b11", 3},
                                                                    {"-5", -5},
                                                                    {"+5", 5},
                                                                    {"1_000", 1000},
                                                                    {"1.9", 1},
                                                                    {"1e3", 1000},
                                                                    {"0899", 899},
                                                                    {"rw", {}},
                                                                    {"", {}},
                                                                    {"--5", {}},
                                                                    {"-+5", {}},
                                                                    {"0x", {}},
                                                                    {".5", 0},
                                                                    {"1.5.0", {}},
                                                                    {"99999999999999999999", {}},
                                                                    {"9223372036854775807", INT64_MAX}};
  for (const auto& [text, value] : integers) EXPECT_EQ(as_integer(plain(text)), value) << text;
  EXPECT_EQ(as_bool(plain("true")), true);
  EXPECT_EQ(as_bool(plain("Off")), false);
  EXPECT_EQ(as_bool(plain("1")), std::nullopt);
  yaml::Node quoted = plain("true");
  quoted.is_plain = false;
  EXPECT_EQ(as_bool(quoted), std::nullopt);
  quoted.text = "yes";
  EXPECT_EQ(as_bool(quoted), true);
  quoted.text = "5";
  EXPECT_EQ(as_integer(quoted), std::nullopt);
}

}  // namespace strake::ignition::butane_test
