// What `strake config lint` found, each with its line: for people and editors, for scripts, for code scanning (SARIF),
// and as annotations of a GitHub workflow.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/input/source_lines.h"
#include "codec/json.h"
#include "machineconfig/lint/lint.h"

namespace strake::cmd {

inline constexpr std::string_view kLintReportKind = "LintReport";

/// What counts as a reason for exit code 2.
enum class LintFailOn { kWarning, kError };
inline constexpr std::string_view kLintFailOnWords[] = {"warning", "error"};

struct PlacedFinding {
  machineconfig::LintFinding finding;
  SourcePlace place = {};
};

struct LintReport {
  std::vector<PlacedFinding> findings = {};
  std::size_t configs = 0;    ///< MachineConfigs that were looked at
  std::size_t silenced = 0;   ///< findings left out because of a comment
  std::string any_file = {};  ///< a file of the input, for findings that belong to none; empty for a cluster
  std::string folder = {};    ///< where the command runs: code scanning wants paths from there

  bool reaches(LintFailOn least) const;

  /// "site.yaml:12: error: MachineConfig 50-site: spec.kernelType: ... [invalid]", the form editors jump to.
  std::string text() const;
  json::Value json() const;
  /// SARIF 2.1.0, as GitHub's code scanning takes it.
  json::Value sarif(std::string_view version) const;
  /// Workflow commands: "::error file=...,line=...::...".
  std::string github() const;

 private:
  /// From `folder` on where it lies below it.
  std::string relative_file(const std::string& file) const;
};

/// What `--explain` says about a rule.
std::string rule_text(const machineconfig::LintRule& rule);
/// Every rule on a line.
std::string rules_text();

}  // namespace strake::cmd
