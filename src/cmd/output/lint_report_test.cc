#include "cmd/output/lint_report.h"

#include <gtest/gtest.h>

#include <set>

#include "base/fd.h"
#include "support/places.h"

namespace strake::cmd::lint_report_test {

using machineconfig::LintRule;
using machineconfig::LintRuleId;

LintReport sample() {
  LintReport report{.configs = 3, .any_file = "manifests/a.yaml", .folder = "/work"};
  report.findings.push_back({{.rule = LintRuleId::kInvalid,
                              .config = "50-a",
                              .field = {"spec", "kernelType"},
                              .message = "spec.kernelType: 100% wrong,\nreally"},
                             {"/work/mani fests/a,b:%.yaml", 12}});
  report.findings.push_back({{.rule = LintRuleId::kLarge, .pool = "worker", .message = "large"}, {}});
  return report;
}

TEST(LintReport, TextIsWhatEditorsJumpTo) {
  EXPECT_EQ(
      sample().text(),
      "/work/mani fests/a,b:%.yaml:12: error: MachineConfig 50-a: spec.kernelType: 100% wrong,\\nreally [invalid]\n"
      "warning: pool worker: large; put large contents into the OS image, or compress them [large]\n");
  EXPECT_EQ((LintReport{.configs = 2}.text()), "2 MachineConfigs, nothing to say\n");
  EXPECT_EQ((LintReport{.configs = 2, .silenced = 1}.text()),
            "2 MachineConfigs, nothing to say; 1 silenced by comments\n");
}

TEST(LintReport, AnnotationsAreEscapedAsTheRunnerUnescapesThem) {
  EXPECT_EQ(sample().github(),
            "::error file=mani fests/a%2Cb%3A%25.yaml,line=12,title=strake invalid::MachineConfig 50-a: "
            "spec.kernelType: 100%25 wrong,%0Areally\n"
            "::warning title=strake large::pool worker: large; put large contents into the OS image, or compress "
            "them\n");
}

TEST(LintReport, JsonHasTheHouseForm) {
  const json::Value document = sample().json();
  EXPECT_EQ(json::find_string(document, {"kind"}), "LintReport");
  EXPECT_EQ(json::find_string(document, {"apiVersion"}), "strake.dev/v1alpha1");
  EXPECT_EQ(json::write(*json::find(document, {"errors"})), "1");
  const json::Value& finding = json::find(document, {"findings"})->get_array()[0];
  EXPECT_EQ(json::find_string(finding, {"field"}), "spec.kernelType");
  EXPECT_EQ(json::find_string(finding, {"place"}), "/work/mani fests/a,b:%.yaml:12");
  EXPECT_EQ(json::write(*json::find(finding, {"line"})), "12");
}

/// What GitHub's code scanning demands of an upload, written out.
TEST(LintReport, SarifHasEveryPropertyGitHubDemands) {
  const json::Value sarif = sample().sarif("1.2.3");
  EXPECT_EQ(json::find_string(sarif, {"$schema"}), "https://json.schemastore.org/sarif-2.1.0.json");
  EXPECT_EQ(json::find_string(sarif, {"version"}), "2.1.0");
  const json::Array& runs = json::find(sarif, {"runs"})->get_array();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(json::find_string(runs[0], {"tool", "driver", "name"}), "strake");
  const json::Array& rules = json::find(runs[0], {"tool", "driver", "rules"})->get_array();
  std::set<std::string> ids;
  for (const json::Value& rule : rules) {
    const auto id = json::find_string(rule, {"id"});
    ASSERT_TRUE(id && ids.insert(*id).second);
    for (const std::string_view text : {"shortDescription", "fullDescription", "help"}) {
      EXPECT_FALSE(json::find_string(rule, {text, "text"}).value_or("").empty()) << *id << " " << text;
    }
    const auto level = json::find_string(rule, {"defaultConfiguration", "level"});
    EXPECT_TRUE(level == "error" || level == "warning") << *id;
  }
  const json::Array& results = json::find(runs[0], {"results"})->get_array();
  ASSERT_EQ(results.size(), 2u);
  std::set<std::string> fingerprints;
  for (const json::Value& result : results) {
    const auto id = json::find_string(result, {"ruleId"});
    const auto index = json::find_int(result, {"ruleIndex"});
    ASSERT_TRUE(id && index);
    EXPECT_EQ(json::find_string(rules.at(static_cast<std::size_t>(*index)), {"id"}), id);
    EXPECT_FALSE(json::find_string(result, {"message", "text"}).value_or("").empty());
    EXPECT_TRUE(json::find_string(result, {"level"}).has_value());
    const json::Array& locations = json::find(result, {"locations"})->get_array();
    ASSERT_EQ(locations.size(), 1u);
    const auto uri = json::find_string(locations[0], {"physicalLocation", "artifactLocation", "uri"});
    ASSERT_TRUE(uri);
    EXPECT_EQ(uri->find_first_of(" ,\\"), std::string::npos) << *uri;
    EXPECT_FALSE(uri->starts_with('/')) << *uri;
    EXPECT_GE(json::find_int(locations[0], {"physicalLocation", "region", "startLine"}).value_or(0), 1);
    const auto print = json::find_string(result, {"partialFingerprints", "strakeFinding/v1"});
    EXPECT_TRUE(print && fingerprints.insert(*print).second);
  }
  EXPECT_EQ(json::find_string(results[0], {"locations"}), std::nullopt);
  const json::Value& place = json::find(results[0], {"locations"})->get_array()[0];
  EXPECT_EQ(json::find_string(place, {"physicalLocation", "artifactLocation", "uri"}), "mani%20fests/a%2Cb%3A%25.yaml");
}

TEST(LintReport, NoSecretGoesIntoAFingerprintOrAMessage) {
  LintReport report{.configs = 1, .any_file = "a.yaml"};
  report.findings.push_back({{.rule = LintRuleId::kImageByTag, .message = "password=hunter2secret"}, {"a.yaml", 1}});
  EXPECT_EQ(json::write(report.sarif("1")).find("hunter2"), std::string::npos);
}

TEST(LintReport, WhatFailsDependsOnWhatIsAskedFor) {
  LintReport report = sample();
  EXPECT_TRUE(report.reaches(LintFailOn::kError));
  report.findings.erase(report.findings.begin());
  EXPECT_TRUE(report.reaches(LintFailOn::kWarning));
  EXPECT_FALSE(report.reaches(LintFailOn::kError));
  report.findings.clear();
  EXPECT_FALSE(report.reaches(LintFailOn::kWarning));
}

/// "| large | warning | near the size that API servers take |"
TEST(LintReport, TheTableInTheDocumentationIsThatOfTheProgram) {
  const std::string page = *read_file(test::source_folder() / "docs/machineconfigs.md", 1 << 20);
  std::string expected;
  for (const LintRule& rule : machineconfig::lint_rules()) {
    expected += fmt::format("| {} | {} | {} |\n", rule.name, ignition::to_string(rule.severity), rule.summary);
  }
  EXPECT_NE(page.find(expected), std::string::npos) << "docs/machineconfigs.md has to hold these rows:\n" << expected;
}

TEST(LintReport, RulesExplainThemselves) {
  const LintRule& rule = machineconfig::lint_rule(LintRuleId::kStaleHash);
  const std::string text = rule_text(rule);
  for (const std::string_view part : {rule.name, rule.summary, rule.why, rule.repair}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
  EXPECT_NE(rules_text().find("stale-hash"), std::string::npos);
}

}  // namespace strake::cmd::lint_report_test
