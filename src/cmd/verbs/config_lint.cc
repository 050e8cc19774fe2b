#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "base/suggest.h"
#include "cmd/cli/commands.h"
#include "cmd/input/config_input.h"
#include "cmd/input/config_set.h"
#include "cmd/input/connection.h"
#include "cmd/input/text_input.h"
#include "cmd/output/lint_report.h"
#include "cmd/output/result_document.h"
#include "cmd/version.h"
#include "machineconfig/lint/lint_comments.h"

namespace strake::cmd {

namespace {

using machineconfig::LintComments;
using machineconfig::LintFinding;
using machineconfig::LintRule;
using machineconfig::LintRuleId;

enum class LintFormat { kText, kJson, kSarif, kGithub };
constexpr std::string_view kLintFormats[] = {"text", "json", "sarif", "github"};

constexpr OptionSpec kLintOptions[] = {
    kFilesOption,
    kRecursiveOption,
    {"ignore", "RULES", "rules to leave out, separated by commas", "", kListValue},
    {"fail-on", "SEVERITY", "exit with 2 when there is a finding as bad as this: warning or error", "warning",
     one_of(kLintFailOnWords)},
    {"explain", "RULE", "say what a rule is about, why, and how to repair what it finds; nothing is read"},
    {"rules", "", "list the rules; nothing is read"},
    {"o,output", "FORMAT", "text, json, sarif for code scanning, or github for annotations of a workflow", "text",
     one_of(kLintFormats)},
    kKubeconfigOption,
    kContextOption,
    kTimeoutOption};

std::string unknown_rule(std::string_view rule) {
  std::vector<std::string_view> known;
  for (const LintRule& one : machineconfig::lint_rules()) known.push_back(one.name);
  return fmt::format("there is no rule '{}'{}", rule, did_you_mean(rule, known));
}

Result<std::set<std::string, std::less<>>> ignored_rules(const std::vector<std::string>& named) {
  for (const std::string& rule : named) {
    if (machineconfig::find_lint_rule(rule) != nullptr) continue;
    return error(Code::kInvalidArgument, "--ignore: {}; there are {}", unknown_rule(rule),
                 machineconfig::lint_rule_names());
  }
  return std::set<std::string, std::less<>>(named.begin(), named.end());
}

/// The field of the object a finding is about, of the pool where it is about no MachineConfig.
SourceField source_field(const LintFinding& finding) {
  const bool is_config = !finding.config.empty();
  return {is_config ? "MachineConfig" : "MachineConfigPool", is_config ? finding.config : finding.pool, finding.field};
}

/// The findings with their places, those left out that a comment silences; comments that silence nothing are findings.
class Placer {
 public:
  explicit Placer(const ConfigFiles& files) : files_(files) {
    for (const std::string& path : files_.sources.paths()) {
      const auto text = files_.sources.text_of(path);
      if (text.ok()) comments_.emplace(path, LintComments(*text));
    }
  }

  void place(std::vector<LintFinding> found, LintReport& report) const {
    std::vector<SourceField> fields;
    fields.reserve(found.size());
    for (const LintFinding& finding : found) fields.push_back(source_field(finding));
    const std::vector<SourcePlace> places = files_.sources.find(fields);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (is_silenced(fields[i], places[i], machineconfig::lint_rule(found[i].rule).name)) {
        ++report.silenced;
      } else {
        report.findings.push_back({std::move(found[i]), places[i]});
      }
    }
  }

  void tell_unknown_rules(LintReport& report) const {
    for (const auto& [path, comments] : comments_) {
      for (const machineconfig::LintComment& comment : comments.comments()) {
        for (const std::string& rule : comment.rules) {
          if (machineconfig::find_lint_rule(rule) != nullptr) continue;
          report.findings.push_back({{.rule = LintRuleId::kUnknownRule,
                                      .message = rule.empty() ? "strake:ignore without a rule silences nothing"
                                                              : fmt::format("strake:ignore: {}", unknown_rule(rule))},
                                     {shown_path(path), comment.line}});
        }
      }
    }
  }

 private:
  bool is_silenced(const SourceField& field, const SourcePlace& place, std::string_view rule) const {
    const SourceLines::Origin* origin = files_.sources.find_object(field.kind, field.name);
    if (origin == nullptr) return false;
    const auto comments = comments_.find(origin->path);
    return comments != comments_.end() && comments->second.silence(rule, place.line, origin->line);
  }

  const ConfigFiles& files_;
  std::map<std::string, LintComments> comments_;  ///< by path
};

Result<int> explain_rules(const Invocation& invocation) {
  if (invocation.is_set("rules")) {
    invocation.out().text(rules_text());
    return kExitOk;
  }
  const std::string& name = invocation.value("explain");
  const LintRule* rule = machineconfig::find_lint_rule(name);
  if (rule == nullptr) {
    return error(Code::kInvalidArgument, "--explain: {}; there are {}", unknown_rule(name),
                 machineconfig::lint_rule_names());
  }
  invocation.out().text(rule_text(*rule));
  return kExitOk;
}

Result<LintReport> lint_input(const Invocation& invocation) {
  STRAKE_TRY(const auto ignored, ignored_rules(invocation.list("ignore")));
  ConfigFiles files;
  if (const std::string& path = invocation.value("filename"); !path.empty()) {
    STRAKE_TRY(files, read_config_files(path, {.recursive = invocation.is_set("recursive")}));
    for (const std::string& note : files.notes) invocation.out().warn(note);
    if (files.set.configs.empty()) return error(Code::kNotFound, "{} holds no MachineConfig", shown_path(path));
  } else {
    STRAKE_TRY(files.set, read_config_set(invocation));
  }
  std::error_code failure;
  LintReport report{.configs = files.set.configs.size(), .folder = std::filesystem::current_path(failure).string()};
  if (!files.sources.paths().empty()) report.any_file = shown_path(files.sources.paths().front());
  std::vector<LintFinding> findings = machineconfig::lint_configs(files.set);
  std::erase_if(findings, [&](const LintFinding& finding) {
    return ignored.contains(machineconfig::lint_rule(finding.rule).name);
  });
  const Placer placer(files);
  placer.place(std::move(findings), report);
  if (!ignored.contains(machineconfig::lint_rule(LintRuleId::kUnknownRule).name)) placer.tell_unknown_rules(report);
  return report;
}

Result<int> run_config_lint(const Invocation& invocation) {
  if (invocation.is_set("rules") || invocation.has("explain")) return explain_rules(invocation);
  const auto format = invocation.choice<LintFormat>("output");
  return run_with_result(invocation, kLintReportKind, format == LintFormat::kJson, [&]() -> Result<int> {
    STRAKE_TRY(const LintReport report, lint_input(invocation));
    switch (format) {
      case LintFormat::kText: invocation.out().text(report.text()); break;
      case LintFormat::kJson: invocation.out().report(report.json()); break;
      case LintFormat::kSarif: invocation.out().report(report.sarif(kVersion)); break;
      case LintFormat::kGithub: invocation.out().text(report.github()); break;
    }
    return report.reaches(invocation.choice<LintFailOn>("fail-on")) ? kExitDiffers : kExitOk;
  });
}

constexpr ExitMeaning kConfigLintExits[] = {{kExitOk, "nothing found, or nothing as bad as --fail-on says; explained"},
                                            {kExitError, "the input could not be read"},
                                            {kExitDiffers, "findings"},
                                            kServerUnreachable};

}  // namespace

const CommandSpec kConfigLintCommand{
    "config lint",
    "Check MachineConfigs before they reach a cluster; for CI.",
    "Looks at every MachineConfig, renders every pool and says what is wrong, what running nodes cannot follow and "
    "what "
    "does nothing, a line each: FILE:LINE: error|warning: what; how to repair [rule]. The line is that of the "
    "field.\n\n"
    "A rule is left out with --ignore, or where it is meant by a comment in the file, at the end of the line, on the "
    "lines before it, or at the head of the document for all of it (JSON has no comments):\n\n"
    "  # strake:ignore RULE[,RULE] reason\n\n"
    "  strake config lint -f manifests/ --ignore no-pool\n"
    "  strake config lint --rules                             every rule on a line\n"
    "  strake config lint --explain stale-hash\n"
    "  strake config lint -f manifests/ -o github             annotations on the pull request\n"
    "  strake config lint -f manifests/ -o sarif > lint.sarif for code scanning",
    {},
    kLintOptions,
    run_config_lint,
    kConfigLintExits};

}  // namespace strake::cmd
