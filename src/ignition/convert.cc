#include <algorithm>
#include <vector>

#include "ignition/config.h"

namespace strake::ignition {

namespace {

constexpr SpecVersion kOldestWritten{3, 1};
constexpr SpecVersion kSpecialModesKept{3, 4};
constexpr std::int64_t kSpecialBits = 07000;

/// No spec forbids these bits, but the Machine Config Operator refuses them on the step from 3.4 to 3.3, and so do we.
void collect_special_modes(const json::Value& config, std::vector<std::string>& lost) {
  for (const std::string_view list : {"files", "directories"}) {
    const json::Value* items = json::find(config, {"storage", list});
    if (items == nullptr) continue;
    for (std::size_t i = 0; i < items->get_array().size(); ++i) {
      const std::int64_t mode = json::find_int(items->get_array()[i], {"mode"}).value_or(0);
      if ((mode & kSpecialBits) == 0) continue;
      lost.push_back(fmt::format("storage.{}[{}].mode: setuid, setgid and sticky bits in {:04o}", list, i, mode));
    }
  }
}

}  // namespace

Result<json::Value> convert(const json::Value& config, SpecVersion to) {
  if (to < kOldestWritten) {
    return error(Code::kUnsupported, "spec {} is read but not written; the oldest to convert to is {}", to_string(to),
                 to_string(kOldestWritten));
  }
  Checked source = check(config);
  const auto& problems = source.report.findings;
  const auto first = std::ranges::find(problems, Severity::kError, &Finding::severity);
  if (first != problems.end()) return error(Code::kInvalidArgument, "{}", first->to_string());

  // Between 3.x specs members were only added, never renamed or removed. So the target's own check decides: what it
  // objects to, or does not know, cannot be expressed there.
  json::Value converted = std::move(source.config);
  normalise(converted);
  json::ensure(converted, {"ignition", "version"}) = to_string(to);
  std::vector<std::string> lost;
  for (const Finding& finding : check(converted).report.findings) {
    if (finding.severity == Severity::kError) lost.push_back(finding.to_string());
    if (finding.at_key) lost.push_back(fmt::format("{}: no such member", finding.path()));
  }
  if (to < kSpecialModesKept && source.version >= kSpecialModesKept) collect_special_modes(converted, lost);
  if (lost.empty()) return converted;
  std::ranges::sort(lost);
  return error(Code::kUnsupported, "spec {} cannot express: {}", to_string(to), fmt::join(lost, "; "));
}

}  // namespace strake::ignition
