#include "cmd/input/lint_files.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "base/text.h"
#include "support/temp_dir.h"

namespace strake::cmd::lint_files_test {

using machineconfig::lint_rule;
using machineconfig::lint_rules;

/// Lines and rules, sorted: "7 decimal-mode".
using Places = std::multiset<std::string>;

struct Linted {
  Places places;
  LintReport report;
  std::string error;
};

Linted lint_text(const std::string& text, const std::string& name = "site.yaml") {
  test::TempDir folder;
  const std::string path = (folder / name).string();
  std::ofstream(path) << text;
  Linted linted;
  const auto files = read_config_files(path);
  if (!files.ok()) {
    linted.error = files.error().to_string();
    return linted;
  }
  linted.report = lint_files(*files);
  for (const PlacedFinding& placed : linted.report.findings) {
    linted.places.insert(fmt::format("{} {}", placed.place.line, lint_rule(placed.finding.rule).name));
  }
  return linted;
}

/// What the text itself says is wrong with it: "  mode: 644  #! decimal-mode" at the end of a line.
Places marked_in(std::string_view text) {
  constexpr std::string_view kMark = "#! ";
  Places places;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::string_view line = take_until(text, '\n');
    const std::size_t mark = line.find(kMark);
    if (mark == std::string_view::npos) continue;
    for (const std::string_view rule : split(line.substr(mark + kMark.size()), ' ')) {
      places.insert(fmt::format("{} {}", number, rule));
    }
  }
  return places;
}

std::string config(std::string_view name, std::string_view spec, std::string_view role = "worker") {
  return fmt::format(
      "---\napiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: {}\n  labels:\n"
      "    machineconfiguration.openshift.io/role: {}\nspec:\n{}",
      name, role, spec);
}

std::string ignition(std::string_view name, std::string_view rest, std::string_view role = "worker") {
  return config(name, fmt::format("  config:\n    ignition: {{version: 3.5.0}}\n{}", rest), role);
}

std::string file(std::string_view name, std::string_view entry, std::string_view role = "worker") {
  return ignition(name, fmt::format("    storage:\n      files:\n{}", entry), role);
}

struct Planted {
  std::string_view name;
  std::string text;
};

std::vector<Planted> planted() {
  std::vector<Planted> cases;
  const auto add = [&](std::string_view name, std::string text) { cases.push_back({name, std::move(text)}); };
  // Fields of the spec.
  add("kernel type", config("50-a", "  kernelType: fast  #! invalid\n"));
  add("image by tag", config("50-a", "  # the OS\n  osImageURL: quay.io/x/os:latest  #! image-by-tag\n"));
  add("member nobody reads", config("50-a", "  kernelArgs: [a]  #! suspicious\n"));
  add("fips", config("50-a", "  kernelArguments: []\n  fips: true  #! fips\n"));
  add("fips that is off", config("50-a", "  fips: false\n"));
  add("line break in an argument",
      config("50-a", "  kernelArguments:\n  - quiet\n  - \"a\\nb\"  #! kernel-argument\n"));
  add("NUL in an argument", config("50-a", "  kernelArguments:\n  - \"a\\0\"  #! kernel-argument\n"));
  add("open quote", config("50-a", "  kernelArguments:\n  - 'x=\"a b'  #! kernel-argument\n  - 'y=\"a b\"'\n"));
  add("line break in a literal block", config("50-a", "  kernelArguments:\n  - |  #! kernel-argument\n    nosmt\n"));
  // Modes.
  add("decimal mode", file("50-a",
                           "      - path: /etc/a\n        mode: 644  #! decimal-mode\n"
                           "        contents: {source: 'data:,'}\n"));
  add("decimal mode that passes",
      file("50-a", "      - path: /etc/a\n        mode: 400  #! decimal-mode\n        contents: {source: 'data:,'}\n"));
  add("good modes", file("50-a",
                         "      - {path: /etc/a, mode: 0644, contents: {source: 'data:,'}}\n"
                         "      - {path: /etc/b, mode: 420, contents: {source: 'data:,'}}\n"
                         "      - {path: /etc/c, mode: 384, contents: {source: 'data:,'}}\n"
                         "      - {path: /etc/d, mode: 511, contents: {source: 'data:,'}}\n"));
  add("mode in flow style", file("50-a",
                                 "      - {path: /etc/a, contents: {source: 'data:,'},\n"
                                 "         mode: 755}  #! decimal-mode\n"));
  add("mode behind an anchor",
      "x-mode: &mode 600\n" + file("50-a", "").substr(4) +
          "      - path: /etc/a\n        contents: {source: 'data:,'}\n        mode: *mode  #! decimal-mode\n");
  add("mode merged from an anchor",
      "x-file: &file\n  contents: {source: 'data:,'}\n  mode: 600  #! decimal-mode\n" + file("50-a", "").substr(4) +
          "      - {path: /etc/a, mode: 420, contents: {source: 'data:,'}}\n      - <<: *file\n        path: /etc/b\n");
  // Paths.
  add("read-only paths", file("50-a",
                              "      - path: /usr/bin/x  #! read-only-path\n"
                              "        contents: {source: 'data:,'}\n"
                              "      - path: /etc/../boot/loader.conf  #! invalid read-only-path\n"
                              "        contents: {source: 'data:,'}\n"
                              "      - path: /data  #! read-only-path\n        contents: {source: 'data:,'}\n"
                              "      - path: /sysroot/ostree/x  #! read-only-path\n"
                              "        contents: {source: 'data:,'}\n"));
  add("writable paths", file("50-a",
                             "      - {path: /usr/local/share/x, contents: {source: 'data:,'}}\n"
                             "      - {path: /opt/x/y, contents: {source: 'data:,'}}\n"
                             "      - {path: /var/lib/x, contents: {source: 'data:,'}}\n"
                             "      - {path: /root/.config/x, contents: {source: 'data:,'}}\n"));
  add("volatile paths", file("50-a",
                             "      - path: /run/x  #! volatile-path\n        contents: {source: 'data:,'}\n"
                             "      - path: /tmp/x  #! volatile-path\n        contents: {source: 'data:,'}\n"));
  add("paths of the platform",
      file("50-a",
           "      - path: /etc/machine-config-daemon/currentimage  #! platform-path\n"
           "        contents: {source: 'data:,'}\n"
           "      - path: /etc/kubernetes//kubelet.conf  #! invalid platform-path\n"
           "        contents: {source: 'data:,'}\n"
           "      - path: /etc/containers/registries.conf  #! platform-path\n"
           "        contents: {source: 'data:,'}\n"
           "      - {path: /etc/containers/registries.conf.d/mine.conf, contents: {source: 'data:,'}}\n"
           "      - path: /run/machine-config-daemon-force  #! refused-by-nodes\n"
           "        contents: {source: 'data:,'}\n"));
  add("path of the agent",
      file("50-a", "      - path: /var/lib/strake/x  #! invalid\n        contents: {source: 'data:,'}\n"));
  add("drop-in of the platform",
      ignition("50-a",
               "    systemd:\n      units:\n      - name: kubelet.service\n        dropins:\n"
               "        - name: 20-logging.conf  #! platform-path\n          contents: \"[Service]\\n\"\n"));
  // Sources.
  add("remote source", file("50-a",
                            "      - path: /etc/a\n        contents:\n"
                            "          source: https://user:pw@example.com/a  #! remote-source\n"));
  add("append", file("50-a",
                     "      - path: /etc/a\n        overwrite: false\n        append:  #! refused-by-nodes\n"
                     "        - source: s3://bucket/a  #! remote-source\n"));
  // What only a first boot applies.
  add("first boot only",
      ignition("50-a",
               "    storage:\n"
               "      directories:  #! first-boot-only\n      - path: /etc/d\n"
               "      links:  #! first-boot-only\n      - {path: /etc/l, target: /etc/a}\n"
               "      luks:  #! first-boot-only\n      - {name: l, device: /dev/l}\n"
               "      raid:  #! first-boot-only\n      - {name: r, level: raid1, devices: [/dev/a, /dev/b]}\n"
               "      filesystems:  #! first-boot-only\n      - {device: /dev/c, format: xfs}\n"
               "      disks:  #! first-boot-only\n      - {device: /dev/d}\n"
               "    passwd:\n      groups:  #! first-boot-only\n      - {name: g}\n"
               "    kernelArguments:\n      shouldExist: [a]  #! first-boot-only\n"));
  add("proxy of Ignition", config("50-a",
                                  "  config:\n    ignition:\n      version: 3.5.0\n"
                                  "      proxy: {noProxy: [a]}  #! first-boot-only\n"));
  add("disks that are allowed to change",
      ignition("50-a", "    storage:\n      disks: [{device: /dev/d}]\n") +
          "---\napiVersion: operator.openshift.io/v1\nkind: MachineConfiguration\nmetadata: {name: cluster}\n"
          "spec: {irreconcilableValidationOverrides: {storage: [Disks]}}\n");
  // Users.
  add("users", ignition("50-a",
                        "    passwd:\n      users:\n"
                        "      - name: bob  #! other-user\n"
                        "        passwordHash: hunter2  #! plain-password\n"
                        "      - name: core\n        sshAuthorizedKeys: [ssh-ed25519 AAAA me]\n"
                        "        shell: /bin/zsh  #! core-user\n"));
  add("core without anything", ignition("50-a", "    passwd:\n      users:\n      - name: core  #! core-user\n"));
  add("empty password", ignition("50-a",
                                 "    passwd:\n      users:\n      - name: core\n"
                                 "        passwordHash: ''  #! plain-password\n"));
  add("good users", ignition("50-a",
                             "    passwd:\n      users:\n      - name: core\n"
                             "        passwordHash: $y$j9T$abc$def\n"
                             "        sshAuthorizedKeys: [ssh-ed25519 AAAA me]\n"));
  // Units.
  add("mount name", ignition("50-a",
                             "    systemd:\n      units:\n"
                             "      - contents: |\n          [Mount]\n          What=/dev/b\n"
                             "          Where=/var/lib/my-data\n"
                             "        name: var-lib-my-data.mount  #! mount-name\n"
                             "      - name: var-lib-my\\x2ddata.mount\n        contents: |\n"
                             "          [Mount]\n          What=/dev/b\n          Where=/var/lib/my-data/\n"));
  add("unit Ignition refuses", ignition("50-a",
                                        "    systemd:\n      units:\n      - name: a.service\n"
                                        "        contents: \"[Unit\"  #! invalid\n"));
  add("units as systemd reads them",
      ignition("50-a",
               "    systemd:\n      units:\n"
               "      - name: a.service\n        contents: |  #! unit-syntax\n"
               "          [Service]\n          ExecStart=bin/true\n"
               "      - name: b.service\n        dropins:\n"
               "        - name: 10-x.conf\n          contents: |  #! unit-ignored\n"
               "            [Service]\n            Restrt=always\n"
               "      - contents: |  #! unit-ignored\n          [Unit]\n          StopWhenUnneeded=maybe\n"
               "          [Service]\n          ExecStart=/bin/true\n        name: c.service\n"));
  add("scripts", file("50-a",
                      "      - path: /usr/local/bin/a.sh  #! script-mode\n"
                      "        contents: {source: 'data:,%23!/bin/sh'}\n"
                      "      - path: /etc/NetworkManager/dispatcher.d/99-x\n"
                      "        mode: 420  #! script-mode\n"
                      "        contents: {source: 'data:,%23!/bin/sh'}\n"
                      "      - path: /var/lib/mine/run  #! script-mode\n"
                      "        contents: {source: 'data:,x'}\n"
                      "      - {path: /usr/local/bin/good, mode: 0755, contents: {source: 'data:,%23!/bin/sh'}}\n"
                      "      - {path: /usr/local/bin/notes.txt, contents: {source: 'data:,notes'}}\n"
                      "      - {path: /etc/sourced.sh, contents: {source: 'data:,%23!/bin/sh'}}\n"
                      "    systemd:\n      units:\n      - name: run.service\n        contents: |\n"
                      "          [Service]\n          ExecStartPre=/bin/bash /etc/sourced.sh\n"
                      "          ExecStart=-/var/lib/mine/run \\\n            --fast\n"));
  // Credentials.
  add("credentials", file("50-a",
                          "      - path: /etc/a\n        contents:\n"
                          "          source: data:,password%3Dhunter2secret  #! clear-secret\n"
                          "    systemd:\n      units:\n      - name: a.service\n"
                          "        contents: |  #! clear-secret\n          [Service]\n          ExecStart=/bin/true\n"
                          "          Environment=AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY\n"));
  add("no credentials",
      file("50-a",
           "      - path: /etc/ssh/sshd_config.d/10-x.conf\n        contents:\n"
           "          source: data:,PasswordAuthentication%20no%0A\n"
           "      - path: /etc/pam.d/x\n        contents:\n"
           "          source: data:,password%20sufficient%20pam_unix.so%20shadow%0A\n"
           "      - path: /etc/sssd/x\n        mode: 384\n        contents:\n          source: data:,a%3Db%0A\n"));
  // Several together.
  add("a role mistyped", config("50-a", "  kernelArguments: [a]\n", "wroker  #! role-typo"));
  add("a custom role with a number", config("50-a", "  kernelArguments: [a]\n", "worker2"));
  add("a mistyped custom role", config("50-a", "  kernelArguments: [a]\n", "infra") +
                                    config("50-b", "  kernelArguments: [b]\n", "infra") +
                                    config("50-c", "  kernelArguments: [c]\n", "infar  #! role-typo"));
  add("no pool takes it",
      "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\nmetadata: {name: worker}\n"
      "spec: {machineConfigSelector: {matchLabels: {machineconfiguration.openshift.io/role: worker}}}\n" +
          config("50-a", "  kernelArguments: [a]\n") +
          "---\napiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: 50-x\n"
          "  labels:  #! no-pool\n    machineconfiguration.openshift.io/role: storage\nspec: {kernelArguments: [b]}\n");
  add("one loses everything", file("50-a", "      - {path: /etc/a, contents: {source: 'data:,1'}}\n") +
                                  file("60-a", "      - {path: /etc/a, contents: {source: 'data:,2'}}\n"));
  cases.back().text = "# head\n" + cases.back().text;
  cases.back().text.replace(cases.back().text.find("apiVersion: machineconfiguration.openshift.io/v1"), 48,
                            "apiVersion: machineconfiguration.openshift.io/v1  #! no-effect");
  add("a conflict", file("50-a",
                         "      - path: /etc/a\n        contents:\n          source: data:,1  #! conflict\n"
                         "      - {path: /etc/b, contents: {source: 'data:,1'}}\n") +
                        file("60-a", "      - {path: /etc/a, contents: {source: 'data:,2'}}\n"));
  add("the same said twice is no conflict",
      file("50-a",
           "      - {path: /etc/a, contents: {source: 'data:,1'}}\n"
           "      - {path: /etc/b, contents: {source: 'data:,1'}}\n") +
          file("60-a", "      - {path: /etc/a, contents: {source: 'data:;base64,MQ=='}}\n"));
  add("a custom pool overrides", file("50-a", "      - {path: /etc/a, contents: {source: 'data:,1'}}\n") +
                                     file("60-a", "      - {path: /etc/a, contents: {source: 'data:,2'}}\n", "infra"));
  add("kernel arguments that fight",
      config("50-a", "  kernelArguments:\n  - quiet\n  - mitigations=off  #! conflict\n  - console=tty0\n") +
          config("60-a", "  kernelArguments:\n  - mitigations=auto\n  - console=ttyS0\n"));
  add("an argument twice", config("50-a", "  kernelArguments: [nosmt]\n") +
                               config("60-a", "  kernelArguments:\n  - quiet\n  - nosmt  #! repeated-item\n"));
  add("units that fight",
      ignition("50-a",
               "    systemd:\n      units:\n      - name: a.service\n        enabled: true  #! conflict\n"
               "        contents: \"[Install]\\nWantedBy=x\\n[Service]\\nExecStart=/bin/true\\n\"\n") +
          ignition("60-a", "    systemd:\n      units:\n      - {name: a.service, enabled: false}\n"));
  add("what the platform generates is not judged",
      "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: 00-worker\n"
      "  labels: {machineconfiguration.openshift.io/role: worker}\n"
      "  annotations: {machineconfiguration.openshift.io/generated-by-controller-version: x}\n"
      "spec:\n  config:\n    ignition: {version: 3.5.0}\n    storage:\n      files:\n"
      "      - {path: /etc/kubernetes/kubelet.conf, contents: {source: 'data:,'}}\n");
  // What is made of other objects.
  const auto limits = [](std::string_view settings) {
    return fmt::format(
        "---\napiVersion: machineconfiguration.openshift.io/v1\nkind: ContainerRuntimeConfig\nmetadata: {{name: "
        "limits}}\n"
        "spec:\n  machineConfigPoolSelector:\n    matchLabels:\n"
        "      pools.operator.machineconfiguration.openshift.io/worker: ''\n  containerRuntimeConfig:\n{}",
        settings);
  };
  add("limits that are refused", config("50-a", "  kernelArguments: [a]\n") +
                                     limits("    logLevel: debug\n    pidsLimit: 3  #! generator-refused\n"));
  add("limits that are only not made yet", config("50-a", "  kernelArguments: [a]\n") + limits("    pidsLimit: 30\n"));
  add("limits that were made of something else",
      "apiVersion: machineconfiguration.openshift.io/v1  #! generated-outdated\nkind: MachineConfig\nmetadata:\n"
      "  name: 99-worker-generated-containerruntime\n"
      "  labels: {machineconfiguration.openshift.io/role: worker}\n"
      "  annotations: {machineconfiguration.openshift.io/generated-by-controller-version: x}\n"
      "spec:\n  config:\n    ignition: {version: 3.5.0}\n    storage:\n      files:\n"
      "      - path: /etc/crio/crio.conf.d/01-ctrcfg-pidsLimit\n"
      "        contents: {source: 'data:,%5Bcrio.runtime%5D%0Apids_limit%3D20'}\n" +
          limits("    pidsLimit: 30\n"));
  add("a base config that is overridden is not the user's",
      "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: 01-worker-x\n"
      "  labels: {machineconfiguration.openshift.io/role: worker}\n"
      "  annotations: {machineconfiguration.openshift.io/generated-by-controller-version: x}\n"
      "spec:\n  config:\n    ignition: {version: 3.5.0}\n    storage:\n      files:\n"
      "      - {path: /etc/x, contents: {source: 'data:,1'}}\n" +
          file("50-a", "      - {path: /etc/x, contents: {source: 'data:,2'}}\n"));
  add("mirrors that are refused",
      config("50-a", "  kernelArguments: [a]\n") +
          "---\napiVersion: config.openshift.io/v1  #! generator-refused\nkind: ImageDigestMirrorSet\n"
          "metadata: {name: m}\nspec: {imageDigestMirrors: [{source: 'a b', mirrors: [m]}]}\n");
  // Silenced.
  add("silenced on the line", config("50-a", "  fips: true  # strake:ignore fips it is meant\n"));
  add("silenced on the line before",
      config("50-a",
             "  # strake:ignore image-by-tag,fips\n  osImageURL: quay.io/x/os:latest\n  fips: true  #! fips\n"));
  add("silenced at the head", "# strake:ignore fips,image-by-tag for this document\n" +
                                  config("50-a", "  osImageURL: quay.io/x/os:latest\n  fips: true\n") +
                                  config("50-b", "  fips: true  #! fips\n"));
  add("silenced by a name that does not exist",
      config("50-a", "  # strake:ignore fisp  #! unknown-rule\n  fips: true  #! fips\n"));
  return cases;
}

TEST(LintFiles, EveryPlantedDefectIsFoundOnItsLineAndNothingElse) {
  std::map<std::string, std::size_t> seen;
  for (const Planted& test : planted()) {
    const Linted linted = lint_text(test.text);
    EXPECT_EQ(linted.error, "") << test.name;
    EXPECT_EQ(linted.places, marked_in(test.text)) << test.name << "\n" << linted.report.text() << test.text;
    for (const PlacedFinding& placed : linted.report.findings) ++seen[std::string(lint_rule(placed.finding.rule).name)];
    // Never a secret, in whatever form.
    for (const std::string& shown : {linted.report.text(), json::write(linted.report.json()),
                                     json::write(linted.report.sarif("1")), linted.report.github()}) {
      for (const std::string_view secret : {"hunter2", "user:pw", "wJalrXUtnFEMI"}) {
        EXPECT_EQ(shown.find(secret), std::string::npos) << test.name << "\n" << shown;
      }
    }
  }
  // These are about pools and merges; see lint_test.cc.
  for (const std::string rule : {"unrenderable", "stale-hash", "no-contents", "large"}) ++seen[rule];
  for (const machineconfig::LintRule& rule : lint_rules()) {
    EXPECT_TRUE(seen.contains(std::string(rule.name))) << "no defect is planted for " << rule.name;
  }
}

TEST(LintFiles, JsonAndListsHaveLinesToo) {
  const std::string_view text = R"({"apiVersion": "v1", "kind": "List",
 "items": [
  {"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
   "metadata": {"name": "50-a", "labels": {"machineconfiguration.openshift.io/role": "worker"}},
   "spec": {
    "fips": true}},
  {"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
   "metadata": {"name": "50-b", "labels": {
     "machineconfiguration.openshift.io/role": "workr"}},
   "spec": {"config": {"ignition": {"version": "3.5.0"}, "storage": {"files": [
     {"path": "/etc/a", "contents": {"source": "data:,"},
      "mode": 644},
     {"path":
      "/usr/x", "contents": {"source": "data:,"}}]}}}}]})";
  EXPECT_EQ(lint_text(std::string(text), "all.json").places,
            (Places{"6 fips", "9 role-typo", "12 decimal-mode", "13 read-only-path"}));
}

TEST(LintFiles, SpecTwoIsReadToo) {
  EXPECT_EQ(lint_text(config("50-a",
                             "  config:\n    ignition: {version: 2.2.0}\n    storage:\n      files:\n"
                             "      - {filesystem: root, path: /etc/b, mode: 420, contents: {source: 'data:,'}}\n"
                             "      - filesystem: root\n        path: /usr/a\n        mode: 420\n"
                             "        contents: {source: 'data:,'}\n"))
                .places,
            (Places{"15 read-only-path"}));
}

}  // namespace strake::cmd::lint_files_test
