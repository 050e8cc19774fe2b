#include <filesystem>
#include <set>

#include "cmd/cli/commands.h"
#include "cmd/input/butane_input.h"
#include "cmd/input/config_input.h"
#include "cmd/input/config_set.h"
#include "cmd/input/connection.h"
#include "cmd/input/lint_files.h"
#include "cmd/input/text_input.h"
#include "cmd/output/lint_report.h"
#include "cmd/output/result_document.h"
#include "cmd/version.h"

namespace strake::cmd {

namespace {

using machineconfig::LintRule;

enum class LintFormat { kText, kJson, kSarif, kGithub };
constexpr std::string_view kLintFormats[] = {"text", "json", "sarif", "github"};

constexpr OptionSpec kLintOptions[] = {
    kFilesOption,
    kRecursiveOption,
    kFilesDirOption,
    kGeneratedOption,
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

Result<std::set<std::string, std::less<>>> ignored_rules(const std::vector<std::string>& named) {
  for (const std::string& rule : named) {
    if (machineconfig::find_lint_rule(rule) != nullptr) continue;
    return error(Code::kInvalidArgument, "--ignore: {}; there are {}", unknown_lint_rule(rule),
                 machineconfig::lint_rule_names());
  }
  return std::set<std::string, std::less<>>(named.begin(), named.end());
}

Result<int> explain_rules(const Invocation& invocation) {
  if (invocation.is_set("rules")) {
    invocation.out().text(rules_text());
    return kExitOk;
  }
  const std::string& name = invocation.value("explain");
  const LintRule* rule = machineconfig::find_lint_rule(name);
  if (rule == nullptr) {
    return error(Code::kInvalidArgument, "--explain: {}; there are {}", unknown_lint_rule(name),
                 machineconfig::lint_rule_names());
  }
  invocation.out().text(rule_text(*rule));
  return kExitOk;
}

Result<LintReport> lint_input(const Invocation& invocation) {
  STRAKE_TRY(const auto ignored, ignored_rules(invocation.list("ignore")));
  STRAKE_TRY(ConfigFiles files, read_config_input(invocation));
  files.set = made_if_asked(std::move(files.set), invocation).set;
  // What is refused or outdated is a finding; what is not there is none.
  for (const machineconfig::GeneratedNote& note : machineconfig::generated_notes(files.set)) {
    using What = machineconfig::GeneratedNote::What;
    if (note.what == What::kMissing || note.what == What::kUnknown) invocation.out().warn(note.to_string());
  }
  std::error_code failure;
  LintReport report = lint_files(files, ignored);
  report.folder = std::filesystem::current_path(failure).string();
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
    "A cluster also makes MachineConfigs of KubeletConfigs, ContainerRuntimeConfigs, mirror sets, image policies and "
    "the "
    "Image config. One that would be refused, and a generated one in the input that a cluster would change, is a "
    "finding; one that the input lacks is only named, and --generated lints with what Strake makes.\n\n"
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
