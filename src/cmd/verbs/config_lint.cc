#include <algorithm>
#include <set>

#include "cmd/cli/commands.h"
#include "cmd/input/config_input.h"
#include "cmd/input/config_set.h"
#include "cmd/input/connection.h"
#include "cmd/input/text_input.h"
#include "cmd/output/format.h"
#include "machineconfig/lint.h"

namespace strake::cmd {

namespace {

using machineconfig::LintFinding;

constexpr OptionSpec kLintOptions[] = {
    kFilesOption,  kRecursiveOption,  {"ignore", "RULES", "rules to leave out, separated by commas", "", kListValue},
    kOutputOption, kKubeconfigOption, kContextOption,
    kTimeoutOption};

Result<std::set<std::string, std::less<>>> ignored_rules(const std::vector<std::string>& named) {
  const auto known = machineconfig::lint_rules();
  for (const std::string& rule : named) {
    if (std::ranges::find(known, rule) == known.end()) {
      return error(Code::kInvalidArgument, "--ignore: there is no rule '{}'; there are {}", rule,
                   fmt::join(known, ", "));
    }
  }
  return std::set<std::string, std::less<>>(named.begin(), named.end());
}

std::string place_of(const ConfigFiles& files, const LintFinding& finding) {
  const SourceLines::Origin* found = files.sources.find_object("MachineConfig", finding.config);
  return found == nullptr ? "" : found->to_string();
}

/// "site.yaml:12: error: MachineConfig 50-site: spec.kernelType: ... [invalid]", the form editors jump to.
std::string lint_line(const ConfigFiles& files, const LintFinding& finding) {
  const std::string place = place_of(files, finding);
  std::string about = finding.config.empty() ? "" : fmt::format("MachineConfig {}: ", finding.config);
  if (!finding.pool.empty()) about = fmt::format("pool {}: {}", finding.pool, about);
  return fmt::format("{}{}{}: {}{} [{}]\n", place, place.empty() ? "" : ": ", ignition::to_string(finding.severity),
                     about, finding.message, finding.rule);
}

json::Value lint_json(const ConfigFiles& files, const std::vector<LintFinding>& findings) {
  json::Array list;
  for (const LintFinding& finding : findings) {
    json::Object object{
        {"severity", ignition::to_string(finding.severity)}, {"rule", finding.rule}, {"message", finding.message}};
    if (!finding.config.empty()) object["machineConfig"] = finding.config;
    if (!finding.pool.empty()) object["pool"] = finding.pool;
    if (const std::string place = place_of(files, finding); !place.empty()) object["place"] = place;
    list.push_back(std::move(object));
  }
  return json::Object{{"findings", std::move(list)}};
}

Result<int> run_config_lint(const Invocation& invocation) {
  const bool as_json = wants_json(invocation);
  STRAKE_TRY(const auto ignored, ignored_rules(invocation.list("ignore")));
  ConfigFiles files;
  if (const std::string& path = invocation.value("filename"); !path.empty()) {
    STRAKE_TRY(files, read_config_files(path, {.recursive = invocation.is_set("recursive")}));
    for (const std::string& note : files.notes) invocation.out().warn(note);
    if (files.set.configs.empty()) return error(Code::kNotFound, "{} holds no MachineConfig", shown_path(path));
  } else {
    STRAKE_TRY(files.set, read_config_set(invocation));
  }
  std::vector<LintFinding> findings = machineconfig::lint_configs(files.set);
  std::erase_if(findings, [&](const LintFinding& finding) { return ignored.contains(finding.rule); });
  if (as_json) {
    invocation.out().report(lint_json(files, findings));
  } else {
    for (const LintFinding& finding : findings) invocation.out().text(lint_line(files, finding));
    if (findings.empty())
      invocation.out().text(fmt::format("{} MachineConfigs, nothing to say\n", files.set.configs.size()));
  }
  return findings.empty() ? kExitOk : kExitDiffers;
}

constexpr ExitMeaning kConfigLintExits[] = {{kExitOk, "nothing found"},
                                            {kExitError, "the input could not be read"},
                                            {kExitDiffers, "findings"},
                                            kServerUnreachable};

}  // namespace

const CommandSpec kConfigLintCommand{
    "config lint",
    "Check MachineConfigs before they reach a cluster; for CI.",
    "Renders every pool and says what is wrong or does nothing, a line each: FILE:LINE: error|warning: what [rule].\n\n"
    "  invalid        the MachineConfig is refused, and with it every pool that takes it\n"
    "  suspicious     a member nobody reads, a unit that does nothing, an extension nobody knows\n"
    "  unrenderable   the MachineConfigs of a pool do not go together, or are too large\n"
    "  no-pool        no pool takes it\n"
    "  no-effect      other MachineConfigs override all of it\n"
    "  stale-hash     contents were replaced while the hash of the old ones stays\n"
    "  no-contents    a file without contents, which nodes refuse\n"
    "  repeated-item  a kernel argument or extension that is set twice\n"
    "  image-by-tag   an OS image named by tag\n"
    "  large          near the size that API servers take\n\n"
    "  strake config lint -f manifests/ --ignore no-pool",
    {},
    kLintOptions,
    run_config_lint,
    kConfigLintExits};

}  // namespace strake::cmd
