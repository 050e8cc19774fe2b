#include "cmd/output/lint_report.h"

#include <algorithm>
#include <filesystem>

#include "base/secrets.h"
#include "base/text.h"
#include "base/visible_text.h"
#include "cmd/output/result_document.h"
#include "codec/digest.h"

namespace strake::cmd {

namespace {

using ignition::Severity;
using machineconfig::LintFinding;
using machineconfig::LintRule;
using machineconfig::LintRuleId;

/// "pool infra: MachineConfig 50-x: "
std::string about_of(const LintFinding& finding) {
  std::string about = finding.config.empty() ? "" : fmt::format("MachineConfig {}: ", finding.config);
  if (!finding.source.empty()) about = fmt::format("{}: ", finding.source);
  if (!finding.pool.empty()) about = fmt::format("pool {}: {}", finding.pool, about);
  return about;
}

/// Their messages are those of the check that refused, and name what is expected.
bool tells_its_repair(LintRuleId rule) { return rule == LintRuleId::kInvalid || rule == LintRuleId::kUnrenderable; }

std::string whole_message(const LintFinding& finding) {
  std::string text = about_of(finding) + finding.message;
  if (!finding.repair.empty() || !tells_its_repair(finding.rule)) text += fmt::format("; {}", finding.how_to_repair());
  return text;
}

/// A path as part of a URI.
std::string uri_of(std::string_view path) {
  std::string uri;
  for (const char c : path) {
    if (is_alphanumeric(c) || std::string_view("/-._~").find(c) != std::string_view::npos) {
      uri += c;
    } else {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return uri;
}

/// As the runner of workflows unescapes it; in a property ':' and ',' mean something too.
std::string workflow_escaped(std::string_view text, bool is_property) {
  std::string escaped;
  for (const char c : text) {
    if (c == '%' || c == '\r' || c == '\n' || (is_property && (c == ':' || c == ','))) {
      escaped += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      escaped += c;
    }
  }
  return escaped;
}

json::Object sarif_text(std::string_view text) { return {{"text", text}}; }

std::string_view sarif_level(Severity severity) {
  switch (severity) {
    case Severity::kError: return "error";
    case Severity::kWarning: return "warning";
  }
  return "error";
}

json::Array sarif_rules() {
  json::Array rules;
  for (const LintRule& rule : machineconfig::lint_rules()) {
    rules.push_back(json::Object{{"id", rule.name},
                                 {"name", rule.name},
                                 {"shortDescription", sarif_text(rule.summary)},
                                 {"fullDescription", sarif_text(rule.why)},
                                 {"help", sarif_text(fmt::format("{} Repair: {}.", rule.why, rule.repair))},
                                 {"defaultConfiguration", json::Object{{"level", sarif_level(rule.severity)}}},
                                 {"properties", json::Object{{"problem.severity", sarif_level(rule.severity)},
                                                             {"tags", json::Array{"MachineConfig"}}}}});
  }
  return rules;
}

}  // namespace

bool LintReport::reaches(LintFailOn least) const {
  return std::ranges::any_of(findings, [&](const PlacedFinding& placed) {
    return least == LintFailOn::kWarning || placed.finding.severity() == Severity::kError;
  });
}

std::string LintReport::text() const {
  std::string text;
  for (const auto& [finding, place] : findings) {
    text += fmt::format("{}{}{}: {} [{}]\n", place.to_string(), place.is_known() ? ": " : "",
                        ignition::to_string(finding.severity()),
                        visible_line(whole_message(finding)),  // names come from files; none starts a line of its own
                        lint_rule(finding.rule).name);
  }
  const std::string left_out = silenced == 0 ? "" : fmt::format("; {} silenced by comments", silenced);
  if (findings.empty()) return fmt::format("{} MachineConfigs, nothing to say{}\n", configs, left_out);
  return text;
}

json::Value LintReport::json() const {
  json::Array list;
  std::size_t errors = 0;
  for (const auto& [finding, place] : findings) {
    errors += finding.severity() == Severity::kError ? 1 : 0;
    json::Object object{{"severity", ignition::to_string(finding.severity())},
                        {"rule", lint_rule(finding.rule).name},
                        {"message", finding.message},
                        {"repair", finding.how_to_repair()}};
    if (!finding.config.empty()) object["machineConfig"] = finding.config;
    if (!finding.pool.empty()) object["pool"] = finding.pool;
    if (!finding.source.empty()) object["source"] = finding.source;
    if (!finding.field.empty()) object["field"] = json::path_text(finding.field);
    if (place.is_known()) {
      object["place"] = place.to_string();
      object["file"] = place.file;
      object["line"] = place.line;
    }
    list.push_back(std::move(object));
  }
  return result_document(kLintReportKind, kResultOk,
                         {{"machineConfigs", configs},
                          {"errors", errors},
                          {"warnings", findings.size() - errors},
                          {"silenced", silenced},
                          {"findings", std::move(list)}});
}

std::string LintReport::relative_file(const std::string& file) const {
  const std::filesystem::path path = std::filesystem::path(file).lexically_normal();
  if (path.is_relative() || folder.empty()) return path.string();
  const std::filesystem::path below = path.lexically_relative(folder);
  return below.empty() || *below.begin() == ".." ? path.string() : below.string();
}

json::Value LintReport::sarif(std::string_view version) const {
  json::Array results;
  for (const auto& [finding, place] : findings) {
    // GitHub shows nothing without a place: what belongs to no file is told at the first one.
    const std::string file = relative_file(place.is_known() ? place.file : any_file);
    const std::string message = without_secrets(whole_message(finding));
    json::Object physical{{"artifactLocation", json::Object{{"uri", uri_of(file)}}},
                          {"region", json::Object{{"startLine", place.is_known() ? place.line : 1}}}};
    json::Array locations;
    if (!file.empty()) locations.push_back(json::Object{{"physicalLocation", std::move(physical)}});
    const std::string identity = fmt::format("{}\n{}\n{}\n{}\n{}", lint_rule(finding.rule).name, finding.config,
                                             finding.pool, json::path_text(finding.field), message);
    results.push_back(json::Object{
        {"ruleId", lint_rule(finding.rule).name},
        {"ruleIndex", static_cast<std::size_t>(finding.rule)},
        {"level", sarif_level(finding.severity())},
        {"message", sarif_text(message)},
        {"locations", std::move(locations)},
        {"partialFingerprints", json::Object{{"strakeFinding/v1", codec::sha256_hex(identity).substr(0, 32)}}}});
  }
  json::Object driver{{"name", "strake"}, {"version", version}, {"rules", sarif_rules()}};
  return json::Object{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                      {"version", "2.1.0"},
                      {"runs", json::Array{json::Object{{"tool", json::Object{{"driver", std::move(driver)}}},
                                                        {"columnKind", "unicodeCodePoints"},
                                                        {"results", std::move(results)}}}}};
}

std::string LintReport::github() const {
  std::string text;
  for (const auto& [finding, place] : findings) {
    std::string properties;
    if (place.is_known()) {
      properties = fmt::format("file={},line={},", workflow_escaped(relative_file(place.file), true), place.line);
    }
    text += fmt::format("::{} {}title={}::{}\n", ignition::to_string(finding.severity()), properties,
                        workflow_escaped(fmt::format("strake {}", lint_rule(finding.rule).name), true),
                        workflow_escaped(whole_message(finding), false));
  }
  return text;
}

std::string rule_text(const LintRule& rule) {
  return fmt::format(
      "{} ({}): {}\n\n{}\n\nRepair: {}.\nSilence: --ignore {}, or a comment in the file: # strake:ignore {} reason\n",
      rule.name, ignition::to_string(rule.severity), rule.summary, rule.why, rule.repair, rule.name, rule.name);
}

std::string rules_text() {
  std::size_t width = 0;
  for (const LintRule& rule : machineconfig::lint_rules()) width = std::max(width, rule.name.size());
  std::string text;
  for (const LintRule& rule : machineconfig::lint_rules()) {
    text += fmt::format("{:<{}}  {:<7}  {}\n", rule.name, width, ignition::to_string(rule.severity), rule.summary);
  }
  return text;
}

}  // namespace strake::cmd
