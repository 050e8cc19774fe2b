// What a reviewer would say about a set of MachineConfigs before it reaches a cluster. The rules: lint_rules.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codec/json_locate.h"
#include "machineconfig/lint/lint_rules.h"
#include "machineconfig/render/render_set.h"

namespace strake::machineconfig {

struct LintFinding {
  LintRuleId rule = LintRuleId::kInvalid;
  std::string config = {};  ///< MachineConfig it is about; empty when it is about a pool as a whole
  std::string pool = {};    ///< pool it shows in; empty when it is about the MachineConfig alone
  std::string source = {};  ///< "KubeletConfig small": the object it is about where that is neither
  json::Steps field = {};   ///< of the MachineConfig, else of the pool or source; empty: the object itself
  std::string message = {};
  std::string repair = {};  ///< where more can be said than the rule does

  ignition::Severity severity() const { return lint_rule(rule).severity; }
  std::string_view how_to_repair() const { return repair.empty() ? lint_rule(rule).repair : repair; }
  bool operator==(const LintFinding&) const = default;
};

/// Errors first, then by MachineConfig. Every pool of the set is rendered. No message shows a secret's value.
std::vector<LintFinding> lint_configs(const ConfigSet& set);

}  // namespace strake::machineconfig
