#include "cmd/output/config_difference.h"

#include <algorithm>

#include "base/text.h"
#include "cmd/output/result_document.h"

namespace strake::cmd {

namespace {

bool pool_reaches(FailOn wanted, const machineconfig::SpecDiff& diff) {
  using machineconfig::DisruptionClass;
  const machineconfig::DisruptionVerdict& verdict = diff.verdict;
  switch (wanted) {
    case FailOn::kAny: return !diff.empty();
    case FailOn::kDrain: return verdict.drain || verdict.disruption >= DisruptionClass::kDrain;
    case FailOn::kReboot: return verdict.disruption >= DisruptionClass::kReboot;
    case FailOn::kIrreconcilable: return verdict.irreconcilable.has_value();
  }
  return true;
}

bool set_change_reaches(FailOn wanted, const machineconfig::SetChange& change) {
  if (wanted == FailOn::kAny) return true;
  return wanted != FailOn::kIrreconcilable && change.may_reboot;
}

/// A name in a table: nothing in it means anything to Markdown.
std::string plain_cell(std::string text, std::string_view harmless = "-. ()") {
  for (char& c : text) {
    if (!is_alphanumeric(c) && harmless.find(c) == std::string_view::npos) c = '?';
  }
  return text;
}

std::string fence_for(std::string_view text) {
  std::size_t longest = 2, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::string(longest + 1, '`');
}

/// The same line by line, as a list.
std::string plain_lines(std::string_view text) {
  std::string list;
  while (!text.empty()) list += fmt::format("- {}\n", plain_cell(std::string(take_until(text, '\n')), "-.,:; ()"));
  return list;
}

/// The one cost nobody may overlook stands outside the fold.
std::string cannot_follow_note(const std::vector<std::pair<std::string, machineconfig::SpecDiff>>& pools) {
  std::vector<std::string> names;
  for (const auto& [name, diff] : pools) {
    if (diff.verdict.irreconcilable) names.push_back(name.empty() ? "(one config)" : plain_cell(name));
  }
  if (names.empty()) return "";
  return fmt::format("\n**{}**: {}.\n", fmt::join(names, ", "),
                     machineconfig::meaning_of(machineconfig::DisruptionClass::kReinstall));
}

}  // namespace

bool ConfigDifference::differs() const { return reaches(FailOn::kAny); }

bool ConfigDifference::reaches(FailOn wanted) const {
  return std::ranges::any_of(set_changes, [&](const auto& change) { return set_change_reaches(wanted, change); }) ||
         std::ranges::any_of(pools, [&](const auto& pool) { return pool_reaches(wanted, pool.second); });
}

json::Value ConfigDifference::json(json::Array unused) const {
  json::Array compared;
  for (const auto& [name, diff] : pools) {
    json::Value pool = machineconfig::to_json(diff);
    pool.get_object()["pool"] = name;
    compared.push_back(std::move(pool));
  }
  json::Object members{{"differs", differs()},
                       {"setChanges", machineconfig::to_json(set_changes)},
                       {"unused", std::move(unused)},
                       {"pools", std::move(compared)}};
  if (cost) {
    members["cost"] = to_json(cost->pools);
    json::Array strays;
    for (const rollout::StrayNode& node : cost->strays) strays.emplace_back(node.name);
    members["nodesWithoutPool"] = std::move(strays);
  }
  return result_document(kConfigDifferenceKind, kResultOk, std::move(members));
}

std::string ConfigDifference::text() const {
  std::string text = cost ? to_text(*cost) : "";
  if (!text.empty()) text += "\n";
  text += machineconfig::to_text(set_changes);
  for (const auto& [name, diff] : pools) {
    if (pools.size() > 1 || !set_changes.empty()) {
      text += fmt::format("{}== {}\n", text.empty() ? "" : "\n", name.empty() ? "config" : "pool " + name);
    }
    text += machineconfig::to_text(diff);
  }
  return text.empty() ? "No difference.\n" : text;
}

std::string ConfigDifference::markdown() const {
  if (!differs()) return "No difference in the configuration of nodes.\n";
  std::string table = "| pool | class | drain | changes |\n|---|---|---|---|\n";
  for (const auto& [name, diff] : pools) {
    if (diff.empty()) continue;
    table += fmt::format("| {} | {} | {} | {} |\n", plain_cell(name.empty() ? "(one config)" : name),
                         to_string(diff.verdict.disruption), diff.verdict.drain ? "yes" : "no", diff.changes.size());
  }
  if (!set_changes.empty()) table += fmt::format("| (the set) | | | {} |\n", set_changes.size());
  table += cannot_follow_note(pools);
  if (cost && !cost->empty()) table += fmt::format("\n{}\n", plain_lines(to_text(*cost)));
  const std::string details = text();
  const std::string fence = fence_for(details);
  return fmt::format(
      "{}\n<details><summary>What changes, who did it and what it costs</summary>\n\n{}\n{}{}\n\n</details>\n", table,
      fence, details, fence);
}

}  // namespace strake::cmd
