#include <algorithm>

#include "machineconfig/diff/spec_diff.h"

namespace strake::machineconfig {

namespace {

std::vector<std::string> names_of_actions(const std::vector<PolicyAction>& actions) {
  std::vector<std::string> names;
  names.reserve(actions.size());
  for (const PolicyAction& action : actions) names.push_back(action.to_string());
  return names;
}

json::Array to_json_list(const std::vector<std::string>& texts) {
  json::Array list;
  list.reserve(texts.size());
  for (const std::string& text : texts) list.emplace_back(text);
  return list;
}

json::Array to_json_list(const std::vector<ChangedName>& changed) {
  json::Array list;
  for (const ChangedName& item : changed) list.emplace_back(item.name);
  return list;
}

json::Object change_to_json(const SpecChange& change) {
  json::Object object{{"kind", to_string(change.subject.kind)},
                      {"name", change.name},
                      {"change", to_string(change.kind)},
                      {"before", change.before},
                      {"after", change.after},
                      {"details", to_json_list(change.details)},
                      {"secret", change.secret},
                      {"actions", to_json_list(names_of_actions(change.actions))},
                      {"why", change.why}};
  if (!change.before_from.empty()) object["beforeFrom"] = change.before_from;
  if (!change.after_from.empty()) object["afterFrom"] = change.after_from;
  return object;
}

/// Code points beyond ASCII that steer a terminal or turn the reading direction: C1 controls, bidirectional overrides.
bool is_steering(std::string_view rest) {
  const auto byte = [&](std::size_t i) { return i < rest.size() ? static_cast<unsigned char>(rest[i]) : 0u; };
  if (byte(0) == 0xC2) return byte(1) >= 0x80 && byte(1) <= 0x9F;
  if (byte(0) != 0xE2) return false;
  return (byte(1) == 0x80 && byte(2) >= 0xAA && byte(2) <= 0xAE) ||
         (byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9);
}

/// What would steer the terminal as \xNN, line breaks included; a tab stays.
std::string printable(std::string_view text) {
  std::string shown;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte < 0x20 && text[i] != '\t') || byte == 0x7F) {
      shown += fmt::format("\\x{:02x}", byte);
    } else if (is_steering(text.substr(i))) {
      const std::size_t length = byte == 0xC2 ? 2 : 3;
      for (std::size_t k = 0; k < length; ++k) {
        shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i + k]));
      }
      i += length - 1;
    } else {
      shown += text[i];
    }
  }
  return shown;
}

std::string title_of(const SpecChange& change) { return Subject{change.subject.kind, change.name}.to_string(); }

/// What the class comes from: the changes that call for the dearest thing, the first few by name.
std::string because(const SpecDiff& diff) {
  if (diff.verdict.irreconcilable) {
    const Irreconcilable& refusal = *diff.verdict.irreconcilable;
    return printable(fmt::format("{} ({})", refusal.subject.to_string(), refusal.reason));
  }
  constexpr std::size_t kShown = 3;
  std::vector<std::string> reasons;
  std::size_t more = 0;
  for (const SpecChange& change : diff.changes) {
    const bool decides = std::any_of(change.actions.begin(), change.actions.end(), [&](const PolicyAction& action) {
      return std::find(diff.verdict.actions.begin(), diff.verdict.actions.end(), action) != diff.verdict.actions.end();
    });
    if (!decides) continue;
    if (reasons.size() == kShown) {
      ++more;
    } else {
      reasons.push_back(printable(fmt::format("{} ({})", title_of(change), change.why)));
    }
  }
  if (more > 0) reasons.push_back(fmt::format("and {} more", more));
  return fmt::format("{}", fmt::join(reasons, "\n           "));
}

/// What Strake's own agent makes of it, where that is something else.
std::string agent_line(const SpecDiff& diff) {
  const Consequence& consequence = diff.on_strake;
  if (!consequence.beyond_agent.empty()) {
    return printable(fmt::format("Strake's agent refuses the config; it cannot apply {}",
                                 fmt::join(consequence.beyond_agent, ", ")));
  }
  if (consequence.disruption == diff.verdict.disruption) return "";
  if (consequence.disruption == DisruptionClass::kNone) return "Strake's agent changes nothing that a node notices";
  return fmt::format("Strake's agent does more: {}", meaning_of(consequence.disruption));
}

void add_line(std::string& text, std::string_view label, std::string_view value) {
  if (!value.empty()) text += fmt::format("{:<11}{}\n", label, value);
}

std::string value_line(const SpecChange& change) {
  switch (change.kind) {
    case ChangeKind::kAdded: return change.after;
    case ChangeKind::kRemoved: return change.before.empty() ? "" : "was " + change.before;
    case ChangeKind::kChanged:
      return change.before == change.after ? change.after : fmt::format("{} -> {}", change.before, change.after);
  }
  return "";
}

std::string origin_line(const SpecChange& change) {
  if (change.before_from.empty() || change.before_from == change.after_from) return change.after_from;
  if (change.after_from.empty()) return fmt::format("was from {}", change.before_from);
  return fmt::format("{} (before: {})", change.after_from, change.before_from);
}

char mark_of(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kAdded: return '+';
    case ChangeKind::kRemoved: return '-';
    case ChangeKind::kChanged: return '~';
  }
  return ' ';
}

void add_change(std::string& text, const SpecChange& change) {
  text += fmt::format("\n{} {} {}\n", mark_of(change.kind), printable(title_of(change)), to_string(change.kind));
  const auto add = [&](std::string_view label, const std::string& value) {
    if (!value.empty()) text += fmt::format("    {:<6}{}\n", label, printable(value));
  };
  add("is:", value_line(change));
  add("from:", origin_line(change));
  add("why:", change.why);
  for (const std::string& line : change.details) text += fmt::format("    | {}\n", printable(line));
}

}  // namespace

std::string_view meaning_of(DisruptionClass disruption) {
  switch (disruption) {
    case DisruptionClass::kNone: return "nodes keep running undisturbed";
    case DisruptionClass::kReload: return "services read their configuration anew";
    case DisruptionClass::kRestart: return "services are restarted";
    case DisruptionClass::kDrain: return "pods leave each node, which keeps running";
    case DisruptionClass::kReboot: return "each node reboots";
    case DisruptionClass::kReinstall:
      return "running nodes cannot follow: the pool degrades and takes no further change, of anything, until this one "
             "is "
             "taken back; only machines installed anew get it";
  }
  return "";
}

json::Value to_json(const SpecDiff& diff) {
  const DisruptionVerdict& verdict = diff.verdict;
  json::Array changes;
  for (const SpecChange& change : diff.changes) changes.push_back(change_to_json(change));
  return json::Object{{"before", diff.before_name},
                      {"after", diff.after_name},
                      {"reconcilable", !verdict.irreconcilable.has_value()},
                      {"reason", verdict.irreconcilable ? verdict.irreconcilable->reason : ""},
                      {"class", to_string(verdict.disruption)},
                      {"meaning", diff.empty() ? "" : meaning_of(verdict.disruption)},
                      {"actions", to_json_list(names_of_actions(verdict.actions))},
                      {"drain", verdict.drain},
                      {"agentClass", to_string(diff.on_strake.disruption)},
                      {"agentActions", to_json_list(names_of_actions(diff.on_strake.actions))},
                      {"agentRefuses", to_json_list(diff.on_strake.beyond_agent)},
                      {"changedFiles", to_json_list(verdict.changes.changed_files)},
                      {"changedUnits", to_json_list(verdict.changes.changed_units)},
                      {"changes", std::move(changes)},
                      {"notes", to_json_list(diff.notes)}};
}

std::string to_text(const SpecDiff& diff) {
  std::string text;
  if (!diff.before_name.empty() || !diff.after_name.empty()) {
    text += fmt::format("{} -> {}\n", printable(diff.before_name), printable(diff.after_name));
  }
  if (diff.empty()) return text + "No difference.\n";
  const DisruptionVerdict& verdict = diff.verdict;
  add_line(text, "Class:", fmt::format("{}: {}", to_string(verdict.disruption), meaning_of(verdict.disruption)));
  const std::vector<std::string> actions = names_of_actions(verdict.actions);
  add_line(text, "Actions:", actions.empty() ? "none needed" : fmt::format("{}", fmt::join(actions, ", ")));
  add_line(text, "Drain:", verdict.drain ? "yes" : "no");
  add_line(text, "Because:", because(diff));
  add_line(text, "Agent:", agent_line(diff));
  for (const SpecChange& change : diff.changes) add_change(text, change);
  if (!diff.notes.empty()) text += "\n";
  for (const std::string& note : diff.notes) text += fmt::format("  {}\n", printable(note));
  return text;
}

}  // namespace strake::machineconfig
