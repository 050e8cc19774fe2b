#include <algorithm>

#include "api/machine_config.h"
#include "base/secrets.h"
#include "base/text.h"
#include "base/unit_name.h"
#include "ignition/unit_syntax/unit_syntax.h"
#include "ignition/unit_text.h"
#include "machineconfig/diff/spec_changes.h"
#include "machineconfig/lint/lint_config.h"

namespace strake::machineconfig {

namespace {

void lint_text(const LintedConfig& config, std::string_view text, json::Steps field) {
  const auto kind = find_secret(text);
  // A hash is not in clear text, and what lies in a private place need not be secret.
  if (!kind || *kind == SecretKind::kPasswordHash || *kind == SecretKind::kPrivateFile) return;
  std::string message = fmt::format("{}: it holds {}", json::path_text(field), to_string(*kind));
  config.add(LintRuleId::kClearSecret, std::move(field), std::move(message));
}

void lint_member(const LintedConfig& config, const json::Value& item, std::string_view name,
                 const std::string& member) {
  if (const auto text = json::find_string(item, {name})) {
    lint_text(config, *text, ignition_field(fmt::format("{}.{}", member, name)));
  }
}

template <typename Visit>
void each_dropin(const json::Value& unit, const std::string& member, Visit visit) {
  const json::Value* dropins = json::find(unit, {"dropins"});
  if (dropins == nullptr || !dropins->is_array()) return;
  for (std::size_t i = 0; i < dropins->get_array().size(); ++i) {
    visit(dropins->get_array()[i], fmt::format("{}.dropins[{}]", member, i));
  }
}

void lint_unit_text(const LintedConfig& config, std::string_view name, std::string_view text, ignition::UnitPart part,
                    const std::string& member) {
  if (!ignition::parse_unit_text(text).ok()) return;  // Ignition refuses it first, and the rule `invalid` says so
  for (const ignition::UnitProblem& problem : ignition::check_unit_syntax(name, text, part)) {
    if (problem.is_about_name) continue;  // a rule of its own
    const bool is_refused = problem.severity == ignition::Severity::kError;
    const std::string line = problem.line == 0 ? "" : fmt::format(" line {} of the text:", problem.line);
    config.add(is_refused ? LintRuleId::kUnitSyntax : LintRuleId::kUnitIgnored, ignition_field(member + ".contents"),
               fmt::format("{}.contents:{} {}", named_member(member), line, problem.message));
  }
}

}  // namespace

std::vector<std::string> unit_options(std::string_view text, std::string_view name) {
  std::vector<std::string> values;
  std::string joined;  // lines that end in a backslash go on
  while (!text.empty()) {
    std::string_view line = trimmed(take_until(text, '\n'));
    const bool is_comment = line.starts_with('#') || line.starts_with(';');
    if (is_comment) continue;
    const bool goes_on = line.ends_with('\\');
    if (goes_on) line.remove_suffix(1);
    joined += line;
    if (goes_on && !text.empty()) {
      joined += ' ';
      continue;
    }
    std::string_view value = joined;
    const std::string_view key = trimmed(take_until(value, '='));
    if (key == name) {
      // An empty value takes back what was set before.
      if (trimmed(value).empty())
        values.clear();
      else
        values.emplace_back(trimmed(value));
    }
    joined.clear();
  }
  return values;
}

void lint_mount_units(const LintedConfig& config) {
  config.each("systemd", "units", [&](const json::Value& unit, const std::string& member) {
    const std::string name = json::find_string(unit, {"name"}).value_or("");
    const std::string_view suffix = name.ends_with(".mount")       ? ".mount"
                                    : name.ends_with(".automount") ? ".automount"
                                                                   : "";
    if (suffix.empty()) return;
    const auto where = unit_options(json::find_string(unit, {"contents"}).value_or(""), "Where");
    // Specifiers are filled in on the node.
    if (where.empty() || where.back().find('%') != std::string::npos) return;
    const std::string expected = escaped_unit_path(where.back()) + std::string(suffix);
    if (expected == name) return;
    config.add(LintRuleId::kMountName, ignition_field(member + ".name"),
               fmt::format("{}.name: '{}' does not match Where={}", named_member(member), name, where.back()),
               fmt::format("name it {}", expected));
  });
}

void lint_unit_syntax(const LintedConfig& config) {
  config.each("systemd", "units", [&](const json::Value& unit, const std::string& member) {
    const std::string name = json::find_string(unit, {"name"}).value_or("");
    if (const auto text = json::find_string(unit, {"contents"}); text) {
      lint_unit_text(config, name, *text, ignition::UnitPart::kWhole, member);
    }
    each_dropin(unit, member, [&](const json::Value& dropin, const std::string& inside) {
      const auto text = json::find_string(dropin, {"contents"});
      if (text) lint_unit_text(config, name, *text, ignition::UnitPart::kDropin, inside);
    });
  });
}

void lint_secrets(const LintedConfig& config) {
  config.each("storage", "files", [&](const json::Value& file, const std::string& member) {
    const auto decoded = decode_file(file);
    if (decoded.ok()) lint_text(config, decoded->contents, ignition_field(member + ".contents.source"));
  });
  config.each("systemd", "units", [&](const json::Value& unit, const std::string& member) {
    lint_member(config, unit, "contents", member);
    each_dropin(unit, member, [&](const json::Value& dropin, const std::string& inside) {
      lint_member(config, dropin, "contents", inside);
    });
  });
  const api::Field field = api::kMachineConfigFields["spec.kernelArguments"];
  const std::vector<std::string> arguments = api::MachineConfigView(config.object.json()).kernel_arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    lint_text(config, arguments[i], json::parse_steps(fmt::format("{}[{}]", field.path(), i)));
  }
}

}  // namespace strake::machineconfig
