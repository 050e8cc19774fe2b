// Every rule of `strake config lint`: its name, how bad a finding is, why it matters and what to do.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ignition/report.h"

namespace strake::machineconfig {

/// In the order of the table.
enum class LintRuleId {
  kInvalid,
  kUnrenderable,
  kDecimalMode,
  kRefusedByNodes,
  kRemoteSource,
  kReadOnlyPath,
  kKernelArgument,
  kPlainPassword,
  kMountName,
  kUnitSyntax,
  kGeneratorRefused,
  kSuspicious,
  kNoPool,
  kRoleTypo,
  kNoEffect,
  kConflict,
  kStaleHash,
  kNoContents,
  kRepeatedItem,
  kImageByTag,
  kLarge,
  kFirstBootOnly,
  kFips,
  kOtherUser,
  kCoreUser,
  kPlatformPath,
  kVolatilePath,
  kScriptMode,
  kClearSecret,
  kUnitIgnored,
  kGeneratedOutdated,
  kUnknownRule,
};

struct LintRule {
  LintRuleId id;
  std::string_view name;  ///< by which it is left out
  ignition::Severity severity;
  std::string_view summary;  ///< what is wrong, in one line
  std::string_view why;
  std::string_view repair;
};

std::span<const LintRule> lint_rules();
const LintRule& lint_rule(LintRuleId id);
/// nullptr when there is no such rule.
const LintRule* find_lint_rule(std::string_view name);
/// "decimal-mode, no-pool, ...", for messages.
std::string lint_rule_names();

}  // namespace strake::machineconfig
