// The rules about one MachineConfig alone, each a function that looks at it as it was written. Internal to lint.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "machineconfig/impact/reconcile.h"
#include "machineconfig/lint/lint.h"
#include "machineconfig/merge/subject_field.h"

namespace strake::machineconfig {

/// One MachineConfig, and where what is found about it goes.
struct LintedConfig {
  const kube::Object& object;
  const json::Value* ignition;  ///< as written, in whatever version; nullptr when there is none
  std::vector<LintFinding>& findings;

  void add(LintRuleId rule, json::Steps field, std::string message, std::string repair = {}) const {
    findings.push_back({.rule = rule,
                        .config = object.name(),
                        .field = std::move(field),
                        .message = std::move(message),
                        .repair = std::move(repair)});
  }

  /// Calls visit(item, "storage.files[2]") for every object in a list of the Ignition config.
  template <typename Visit>
  void each(std::string_view section, std::string_view list, Visit visit) const {
    if (ignition == nullptr) return;
    const json::Value* items = json::find(*ignition, {section, list});
    if (items == nullptr || !items->is_array()) return;
    for (std::size_t i = 0; i < items->get_array().size(); ++i) {
      const json::Value& item = items->get_array()[i];
      if (item.is_object()) visit(item, fmt::format("{}.{}[{}]", section, list, i));
    }
  }
};

/// "spec.config: storage.files[2].mode", as the messages of a MachineConfig begin.
std::string named_member(std::string_view member);

void lint_paths(const LintedConfig& config);
void lint_sources(const LintedConfig& config);
void lint_modes(const LintedConfig& config);
void lint_first_boot(const LintedConfig& config, const ReconcileOverrides& overrides);
void lint_users(const LintedConfig& config);
void lint_kernel_arguments(const LintedConfig& config);
void lint_mount_units(const LintedConfig& config);
void lint_unit_syntax(const LintedConfig& config);
void lint_secrets(const LintedConfig& config);

/// What the options of this name in the text of a unit are set to, in order: "Where", "ExecStart".
std::vector<std::string> unit_options(std::string_view text, std::string_view name);

}  // namespace strake::machineconfig
