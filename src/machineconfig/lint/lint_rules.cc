#include "machineconfig/lint/lint_rules.h"

#include <algorithm>
#include <array>

namespace strake::machineconfig {

namespace {

using ignition::Severity;

constexpr std::array kLintRules = {
    LintRule{LintRuleId::kInvalid, "invalid", Severity::kError, "the MachineConfig is refused",
             "A refused MachineConfig keeps every pool that takes it at its old config: nothing else reaches those "
             "nodes any more.",
             "correct the field that is named"},
    LintRule{LintRuleId::kUnrenderable, "unrenderable", Severity::kError,
             "the MachineConfigs of a pool do not go together, or are too large",
             "The pool cannot be rendered, so its nodes stay at their old config.",
             "change or remove one of the MachineConfigs that are named"},
    LintRule{LintRuleId::kSuspicious, "suspicious", Severity::kWarning,
             "something in it does nothing: a member nobody reads, a unit without contents, an unknown extension",
             "It is taken, and whoever wrote it expects something that will not happen.",
             "correct the name of the member, or remove it"},
    LintRule{LintRuleId::kNoPool, "no-pool", Severity::kWarning, "no pool takes it",
             "A MachineConfig reaches nodes through the pools whose machineConfigSelector matches its labels; this one "
             "reaches none.",
             "set the label machineconfiguration.openshift.io/role to the role of a pool"},
    LintRule{LintRuleId::kNoEffect, "no-effect", Severity::kWarning, "other MachineConfigs override all of it",
             "Of two MachineConfigs of one role the one whose name sorts last wins; nothing of this one is left in any "
             "rendered config.",
             "remove it, or give it a name that sorts behind the other"},
    LintRule{LintRuleId::kStaleHash, "stale-hash", Severity::kWarning,
             "contents were replaced while the hash of the old ones stays",
             "Files are merged member by member: new contents without verification.hash keep the hash of the old ones, "
             "and a first boot fails on it.",
             "set contents.verification.hash of the new contents"},
    LintRule{LintRuleId::kNoContents, "no-contents", Severity::kWarning, "a file without contents",
             "The merge gives every file overwrite: true, and nodes refuse that for a file without contents.",
             "set contents, or overwrite: false"},
    LintRule{LintRuleId::kRepeatedItem, "repeated-item", Severity::kWarning,
             "a kernel argument or extension that is set twice",
             "Lists are joined, not merged: the argument stands twice on the command line, and taking it out of one "
             "MachineConfig does not take it away.",
             "leave it in one MachineConfig"},
    LintRule{LintRuleId::kImageByTag, "image-by-tag", Severity::kWarning, "an OS image named by tag",
             "What a tag stands for may change unseen: two nodes of one pool may run different systems under one name.",
             "name the image by digest, with @sha256:"},
    LintRule{LintRuleId::kLarge, "large", Severity::kWarning, "near the size that API servers take",
             "The rendered config is one object, and API servers refuse larger ones: the next file that is added stops "
             "the pool.",
             "put large contents into the OS image, or compress them"},
    LintRule{LintRuleId::kUnknownRule, "unknown-rule", Severity::kWarning, "a comment strake:ignore that names no rule",
             "The comment silences nothing, and nobody would notice.", "take a name from strake config lint --rules"},
};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < kLintRules.size(); ++i) {
    if (static_cast<std::size_t>(kLintRules[i].id) != i) return false;
  }
  return true;
}
static_assert(is_in_order(), "the table of rules is in the order of LintRuleId");
static_assert(kLintRules.back().id == LintRuleId::kUnknownRule, "every rule is in the table");

}  // namespace

std::span<const LintRule> lint_rules() { return kLintRules; }

const LintRule& lint_rule(LintRuleId id) { return kLintRules[static_cast<std::size_t>(id)]; }

const LintRule* find_lint_rule(std::string_view name) {
  const auto* found = std::ranges::find(kLintRules, name, &LintRule::name);
  return found == kLintRules.end() ? nullptr : found;
}

std::string lint_rule_names() {
  std::string names;
  for (const LintRule& rule : kLintRules) names += fmt::format("{}{}", names.empty() ? "" : ", ", rule.name);
  return names;
}

}  // namespace strake::machineconfig
