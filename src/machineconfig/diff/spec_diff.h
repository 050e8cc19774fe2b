// The difference of two rendered configs: what changes, what each change calls for and why, without showing secrets.
//
// Contents are compared decoded: text line by line, unit files by section and key, binaries by size and digest.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "machineconfig/diff/subject.h"
#include "machineconfig/diff/text_diff.h"
#include "machineconfig/impact/consequence.h"
#include "machineconfig/impact/disruption.h"

namespace strake::machineconfig {

struct SpecChange {
  Subject subject;  ///< as the configs have it: for looking up provenance, not for showing
  ChangeKind kind = ChangeKind::kChanged;
  std::string name;    ///< of the subject, as shown: a secret in a kernel argument is hidden
  std::string before;  ///< one short line each; empty when there is nothing on that side
  std::string after;
  std::vector<std::string> details;   ///< lines of a text diff, and what changed besides the contents
  bool secret = false;                ///< holds a secret; details and values are withheld unless asked for
  std::vector<PolicyAction> actions;  ///< what this change alone calls for
  std::string why;
  std::string before_from;  ///< MachineConfigs; filled in from provenance by whoever has it
  std::string after_from;
};

struct SpecDiff {
  std::string before_name;
  std::string after_name;
  DisruptionVerdict verdict;
  Consequence on_strake;            ///< what Strake's own agent does, which plans and rollouts go by
  std::vector<SpecChange> changes;  ///< by kind, then as the configs have them
  std::vector<std::string> notes;   ///< differences that are no change of any subject, such as the order of files

  bool empty() const { return changes.empty() && notes.empty(); }
};

struct SpecDiffOptions {
  DisruptionContext context;
  bool show_secrets = false;
  TextDiffLimits limits;
  std::string before_name;
  std::string after_name;
};

/// Files larger than this are compared by size and digest only.
inline constexpr std::size_t kMaxDiffedFileBytes = 4u << 20;

Result<SpecDiff> diff_specs(const json::Value& before, const json::Value& after, const SpecDiffOptions& options = {});
/// The same for specs that were read already, so that a large one need not be in memory twice.
Result<SpecDiff> diff_comparable(const ComparableSpec& before, const ComparableSpec& after,
                                 const SpecDiffOptions& options = {});

/// "each node reboots": what a class means for the nodes of a pool.
std::string_view meaning_of(DisruptionClass disruption);

/// {before, after, reconcilable, reason, changedFiles, changedUnits, actions, drain, class, meaning, agentClass,
/// agentRefuses, changes, notes}
json::Value to_json(const SpecDiff& diff);

/// For people: the class and what it comes from, then each change with its reason and its lines. Control characters are
/// escaped, so that contents cannot play with the terminal.
std::string to_text(const SpecDiff& diff);

}  // namespace strake::machineconfig
