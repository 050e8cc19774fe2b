#include "cmd/input/lint_files.h"

#include <map>

#include "base/suggest.h"
#include "cmd/input/text_input.h"
#include "machineconfig/lint/lint_comments.h"

namespace strake::cmd {

namespace {

using machineconfig::LintComments;
using machineconfig::LintFinding;
using machineconfig::LintRule;
using machineconfig::LintRuleId;

/// The field of the object a finding is about, of the pool where it is about no other.
SourceField source_field(const LintFinding& finding) {
  if (const std::size_t space = finding.source.find(' '); space != std::string::npos) {
    return {finding.source.substr(0, space), finding.source.substr(space + 1), finding.field};
  }
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
          report.findings.push_back(
              {{.rule = LintRuleId::kUnknownRule,
                .message = rule.empty() ? "strake:ignore without a rule silences nothing"
                                        : fmt::format("strake:ignore: {}", unknown_lint_rule(rule))},
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

}  // namespace

std::string unknown_lint_rule(std::string_view rule) {
  std::vector<std::string_view> known;
  known.reserve(machineconfig::lint_rules().size());
  for (const LintRule& one : machineconfig::lint_rules()) known.push_back(one.name);
  return fmt::format("there is no rule '{}'{}", rule, did_you_mean(rule, known));
}

LintReport lint_files(const ConfigFiles& files, const std::set<std::string, std::less<>>& ignored) {
  const auto is_ignored = [&](LintRuleId rule) { return ignored.contains(machineconfig::lint_rule(rule).name); };
  LintReport report{.configs = files.set.configs.size()};
  if (!files.sources.paths().empty()) report.any_file = shown_path(files.sources.paths().front());
  std::vector<LintFinding> findings = machineconfig::lint_configs(files.set);
  std::erase_if(findings, [&](const LintFinding& finding) { return is_ignored(finding.rule); });
  const Placer placer(files);
  placer.place(std::move(findings), report);
  if (!is_ignored(LintRuleId::kUnknownRule)) placer.tell_unknown_rules(report);
  return report;
}

}  // namespace strake::cmd
