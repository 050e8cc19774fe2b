// What a reviewer would say about a set of MachineConfigs before it reaches a cluster.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ignition/report.h"
#include "machineconfig/render/render_set.h"

namespace strake::machineconfig {

/// Each rule has a name, so that it can be left out by name.
namespace lint_rule {
inline constexpr std::string_view kInvalid = "invalid";             ///< no pool that takes it can be rendered
inline constexpr std::string_view kSuspicious = "suspicious";       ///< it is taken, but something in it does nothing
inline constexpr std::string_view kUnrenderable = "unrenderable";   ///< the configs of a pool do not go together
inline constexpr std::string_view kNoPool = "no-pool";              ///< no pool takes it
inline constexpr std::string_view kNoEffect = "no-effect";          ///< others override all of it
inline constexpr std::string_view kStaleHash = "stale-hash";        ///< contents replaced, their hash kept
inline constexpr std::string_view kNoContents = "no-contents";      ///< a file that will be written without contents
inline constexpr std::string_view kRepeatedItem = "repeated-item";  ///< a kernel argument or extension twice
inline constexpr std::string_view kImageByTag = "image-by-tag";     ///< the image may change under the same name
inline constexpr std::string_view kLarge = "large";                 ///< near the size API servers take
}  // namespace lint_rule

struct LintFinding {
  ignition::Severity severity = ignition::Severity::kError;
  std::string_view rule;
  std::string config;  ///< MachineConfig it is about; empty when it is about a pool as a whole
  std::string pool;    ///< pool it shows in; empty when it is about the MachineConfig alone
  std::string message;

  bool operator==(const LintFinding&) const = default;
};

/// Errors first, then by MachineConfig. Every pool of the set is rendered.
std::vector<LintFinding> lint_configs(const ConfigSet& set);

/// Every rule there is, in the order above.
std::vector<std::string_view> lint_rules();

}  // namespace strake::machineconfig
