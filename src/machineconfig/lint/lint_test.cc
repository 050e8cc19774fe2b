#include "machineconfig/lint/lint.h"

#include <gtest/gtest.h>

#include "machineconfig/render/rendered_size.h"
#include "machineconfig/testing/builders.h"

namespace strake::machineconfig::lint_test {

using builders::file_spec;
using builders::ignition_spec;
using builders::machine_config;
using builders::pool_of;
using builders::shared;

ConfigSet set_of(std::vector<kube::Object> configs) {
  ConfigSet set;
  for (kube::Object& config : configs) set.configs.push_back(shared(std::move(config)));
  return set;
}

/// "error invalid 50-a" or "warning large pool worker", one for each finding.
std::vector<std::string> summary(const std::vector<LintFinding>& findings) {
  std::vector<std::string> lines;
  lines.reserve(findings.size());
  for (const LintFinding& finding : findings) {
    lines.push_back(fmt::format("{} {} {}{}{}", ignition::to_string(finding.severity()), lint_rule(finding.rule).name,
                                finding.config,
                                finding.pool.empty()     ? ""
                                : finding.config.empty() ? "pool "
                                                         : " in ",
                                finding.pool));
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(Lint, NothingIsSaidAboutASoundSet) {
  EXPECT_EQ(summary(lint_configs(set_of({machine_config("50-a", "worker", file_spec("/etc/a", "1")),
                                         machine_config("50-b", "infra", file_spec("/etc/a", "2")),
                                         machine_config("50-m", "master", file_spec("/etc/m", "1"))}))),
            Lines{});
}

TEST(Lint, WhatIsWrongWithOneConfigIsSaidOnceAndInFull) {
  const auto findings = lint_configs(set_of(
      {machine_config(
           "50-bad", "worker",
           R"({"kernelType":"fast","config":{"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"a"}]}}})"),
       machine_config("50-good", "worker", file_spec("/etc/a", "1"))}));
  EXPECT_EQ(summary(findings), (Lines{"error invalid 50-bad", "error invalid 50-bad"}));
  EXPECT_NE(findings[0].message.find("spec.kernelType"), std::string::npos);
  EXPECT_NE(findings[1].message.find("storage.files[0].path"), std::string::npos);
}

TEST(Lint, ConfigsThatDoNotGoTogetherAreThePoolsTrouble) {
  const auto findings = lint_configs(
      set_of({machine_config("50-devel", "worker",
                             R"({"extensions":["kernel-devel"],"config":{"ignition":{"version":"3.5.0"}}})"),
              machine_config("60-rt", "worker", R"({"kernelType":"realtime"})")}));
  EXPECT_EQ(summary(findings), Lines{"error unrenderable pool worker"});
}

TEST(Lint, AConfigNoPoolTakesAndOneThatNeverShows) {
  ConfigSet set = set_of({machine_config("50-a", "worker", file_spec("/etc/a", "1")),
                          machine_config("60-a", "worker", file_spec("/etc/a", "2")),
                          machine_config("50-x", "nobody", file_spec("/etc/x", "1"))});
  set.pools.push_back(shared(pool_of("worker", {"worker"})));
  EXPECT_EQ(summary(lint_configs(set)), (Lines{"warning no-effect 50-a", "warning no-pool 50-x"}));
}

TEST(Lint, WhatAMergeLeavesBehind) {
  const std::string hash(64, '0');
  const auto findings = lint_configs(set_of(
      {machine_config("50-hashed", "worker",
                      ignition_spec(R"("storage":{"files":[{"path":"/etc/a","mode":420,"contents":{"source":"data:,a",)"
                                    R"("verification":{"hash":"sha256-)" +
                                    hash + R"("}}}]})")),
       machine_config("60-plain", "worker", file_spec("/etc/a", "b")),
       machine_config("70-empty", "worker", ignition_spec(R"("storage":{"files":[{"path":"/etc/empty"}]})")),
       machine_config("80-kargs", "worker", R"({"kernelArguments":["nosmt"]})"),
       machine_config("90-kargs", "worker", R"({"kernelArguments":["nosmt"],"osImageURL":"quay.io/x/os:latest"})")}));
  EXPECT_EQ(summary(findings), (Lines{"warning conflict 50-hashed in worker", "warning stale-hash 60-plain in worker",
                                      "warning no-contents 70-empty in worker", "warning image-by-tag 90-kargs",
                                      "warning repeated-item 90-kargs in worker"}));
}

TEST(Lint, UnitsAreReadAsSystemdReadsThem) {
  const auto findings = lint_configs(set_of({machine_config(
      "50-units", "worker",
      ignition_spec(R"("systemd":{"units":[{"name":"a.service","contents":"[Service]\nExecStart=bin/x\n"},)"
                    R"({"name":"b.service","contents":"[Unit]\nAftr=x\n[Service]\nExecStart=/bin/x\n"},)"
                    R"({"name":"c.service","dropins":[{"name":"10-a.conf","contents":"[Sevice]\nRestart=always\n"}]},)"
                    R"({"name":"d.service","contents":"[Service]\nExecStart=/bin/x\n"}]})"))}));
  EXPECT_EQ(summary(findings),
            (Lines{"error unit-syntax 50-units", "warning unit-ignored 50-units", "warning unit-ignored 50-units"}));
  std::vector<std::string> fields;
  fields.reserve(findings.size());
  for (const LintFinding& finding : findings) fields.push_back(json::path_text(finding.field));
  EXPECT_EQ(fields, (Lines{"spec.config.systemd.units[0].contents", "spec.config.systemd.units[1].contents",
                           "spec.config.systemd.units[2].dropins[0].contents"}));
  EXPECT_NE(findings.front().message.find("line 2 of the text: ExecStart=:"), std::string::npos);
}

TEST(Lint, APoolNearTheSizeLimit) {
  const auto findings = lint_configs(
      set_of({machine_config("50-big", "worker", file_spec("/etc/big", std::string(kLargeRenderedBytes, 'x')))}));
  EXPECT_EQ(summary(findings), Lines{"warning large pool worker"});
}

TEST(Lint, EveryRuleHasANameOfItsOwnAndSaysWhatToDo) {
  std::set<std::string_view> names;
  for (const LintRule& rule : lint_rules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_EQ(find_lint_rule(rule.name), &rule);
    EXPECT_FALSE(rule.summary.empty() || rule.why.empty() || rule.repair.empty()) << rule.name;
    EXPECT_FALSE(rule.summary.ends_with('.') || rule.repair.ends_with('.')) << rule.name;
    EXPECT_TRUE(rule.why.ends_with('.')) << rule.name;
  }
  EXPECT_EQ(find_lint_rule("nothing"), nullptr);
}

TEST(Lint, FindingsNameTheFieldTheyAreAbout) {
  const auto findings = lint_configs(
      set_of({machine_config("50-a", "worker", R"({"osImageURL":"quay.io/x/os:latest","kernelType":"fast"})"),
              machine_config("50-b", "worker",
                             R"({"config":{"ignition":{"version":"3.5.0"},"storage":{"files":[)"
                             R"({"path":"/etc/a"},{"path":"b","mode":420},{"path":"c"}]}}})")}));
  std::vector<std::string> fields;
  fields.reserve(findings.size());
  for (const LintFinding& finding : findings) fields.push_back(json::path_text(finding.field));
  EXPECT_EQ(fields, (Lines{"spec.kernelType", "spec.config.storage.files[1].path", "spec.config.storage.files[2].path",
                           "spec.osImageURL"}));
}

}  // namespace strake::machineconfig::lint_test
