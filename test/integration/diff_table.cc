#include "integration/diff_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/fd.h"
#include "base/text.h"
#include "codec/json.h"
#include "support/places.h"

namespace strake::test {

namespace {

constexpr std::string_view kRole = "machineconfiguration.openshift.io/role";
constexpr std::string_view kConfigKinds = "machineconfiguration.openshift.io/v1";

std::filesystem::path table_file() { return source_folder() / "test/integration/diff_table.txt"; }

std::string table_text() {
  auto text = read_file(table_file(), 1 << 20);
  EXPECT_TRUE(text.ok()) << (text.ok() ? "" : text.error().to_string());
  return text.ok() ? *std::move(text) : "";
}

struct Entry {
  std::string key;  ///< "MachineConfig 50-a"; empty for YAML as it stands
  std::string text;
};

std::string object_text(std::string_view api_version, std::string_view kind, std::string_view name,
                        std::string_view members) {
  const std::string metadata = members.starts_with("metadata:") ? "" : fmt::format("metadata: {{name: {}}}, ", name);
  return fmt::format("---\n{{apiVersion: {}, kind: {}, {}{}}}\n", api_version, kind, metadata, members);
}

std::string config_text(std::string_view name, std::string_view role, std::string_view spec) {
  return object_text(kConfigKinds, "MachineConfig", name,
                     fmt::format("metadata: {{name: {}, labels: {{{}: {}}}}}, spec: {}", name, kRole, role, spec));
}

std::string pool_text(std::string_view name, std::string_view members) {
  std::string spec(members);
  const auto unless_given = [&](std::string_view member, const std::string& value) {
    if (members.find(std::string(member) + ":") != std::string_view::npos) return;
    spec += fmt::format("{}{}: {}", spec.empty() ? "" : ", ", member, value);
  };
  const bool built_in = name == "master" || name == "worker";
  unless_given(
      "machineConfigSelector",
      built_in ? fmt::format("{{matchLabels: {{{}: {}}}}}", kRole, name)
               : fmt::format("{{matchExpressions: [{{key: {}, operator: In, values: [worker, {}]}}]}}", kRole, name));
  unless_given("nodeSelector", fmt::format("{{matchLabels: {{node-role.kubernetes.io/{}: \"\"}}}}", name));
  return object_text(
      kConfigKinds, "MachineConfigPool", name,
      fmt::format("metadata: {{name: {0}, labels: {{pools.operator.machineconfiguration.openshift.io/{0}: \"\"}}}}, "
                  "spec: {{{1}}}",
                  name, spec));
}

/// How the members of one file, unit or user become the spec of a MachineConfig.
std::string ignition_part(std::string_view word, std::string_view members) {
  if (word == "file") return fmt::format("storage: {{files: [{{{}}}]}}", members);
  if (word == "unit") return fmt::format("systemd: {{units: [{{{}}}]}}", members);
  if (word == "user") return fmt::format("passwd: {{users: [{{{}}}]}}", members);
  return std::string(members);
}

Entry entry_of(std::string_view rest) {
  const std::string_view word = take_until(rest, ' ');
  if (word == "obj") {
    const std::string_view api_version = take_until(rest, ' ');
    const std::string_view kind = take_until(rest, ' ');
    const std::string_view name = take_until(rest, ' ');
    return {fmt::format("{} {}", kind, name), object_text(api_version, kind, name, rest)};
  }
  const std::string_view name = take_until(rest, ' ');
  if (word == "pool") return {fmt::format("MachineConfigPool {}", name), pool_text(name, rest)};
  const std::string_view role = take_until(rest, ' ');
  const std::string spec =
      word == "mc" ? std::string(rest)
                   : fmt::format("{{config: {{ignition: {{version: 3.4.0}}, {}}}}}", ignition_part(word, rest));
  EXPECT_TRUE(word == "mc" || ignition_part(word, "x") != "x" || word == "ign") << word;
  return {fmt::format("MachineConfig {}", name), config_text(name, role, spec)};
}

class SideText {
 public:
  void put(const Entry& entry) {
    const auto same = std::ranges::find(entries_, entry.key, &Entry::key);
    if (!entry.key.empty() && same != entries_.end()) {
      *same = entry;
    } else {
      entries_.push_back(entry);
    }
  }
  void put_raw(std::string_view line) {
    if (entries_.empty() || !entries_.back().key.empty()) entries_.push_back({"", "---\n"});
    entries_.back().text += std::string(line) + "\n";
  }
  std::string text() const {
    std::string whole;
    for (const Entry& entry : entries_) whole += entry.text;
    return whole;
  }

 private:
  std::vector<Entry> entries_;
};

class TableReader {
 public:
  void read(std::string_view line) {
    ++line_;
    if (line.empty() || line.starts_with('#')) return;
    if (line == "base") return;
    if (line.starts_with("case ")) return begin_case(line.substr(5));
    const char mark = line.front();
    const std::string_view rest = line.substr(std::min<std::size_t>(2, line.size()));
    if (mark == '>') {
      cases_.back().expected.emplace_back(rest);
      return;
    }
    EXPECT_TRUE(mark == '=' || mark == '-' || mark == '+') << "line " << line_ << ": " << line;
    if (mark != '+') add(before_, rest);
    if (mark != '-') add(after_, rest);
  }

  std::vector<DiffCase> take() {
    finish_case();
    return std::move(cases_);
  }

 private:
  static void add(SideText& side, std::string_view rest) {
    rest.starts_with('|') ? side.put_raw(rest.substr(1)) : side.put(entry_of(rest));
  }

  void begin_case(std::string_view rest) {
    if (cases_.empty()) base_ = before_;
    finish_case();
    DiffCase next;
    next.line = line_;
    next.verdict = take_until(rest, ' ');
    before_ = after_ = base_;
    for (std::string_view left = rest; !left.empty();) {
      const std::string_view word = take_until(left, ' ');
      if (word == "files") {
        next.files_only = true;
      } else if (word == "bare") {
        before_ = after_ = {};
      } else {
        break;
      }
      rest = left;
    }
    next.title = rest;
    cases_.push_back(std::move(next));
  }

  void finish_case() {
    if (cases_.empty()) return;
    cases_.back().before = before_.text();
    cases_.back().after = after_.text();
  }

  std::size_t line_ = 0;
  SideText base_, before_, after_;
  std::vector<DiffCase> cases_;
};

std::string replaced(std::string text, const std::string& what, std::string_view with) {
  for (std::size_t at = 0; !what.empty() && (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
  return text;
}

std::string text_at(const json::Value& value, std::string_view member) {
  return json::find_string(value, {member}).value_or("");
}

const json::Array& list_at(const json::Value& value, std::string_view member) {
  static const json::Array kNone;
  const json::Value* list = json::find(value, {member});
  return list == nullptr || !list->is_array() ? kNone : list->get_array();
}

std::string pool_line(const json::Value& pool) {
  std::vector<std::string> parts;
  for (const json::Value& change : list_at(pool, "changes")) {
    const std::string name = text_at(change, "name");
    parts.push_back(
        fmt::format("{}{}{} {}", text_at(change, "kind"), name.empty() ? "" : " ", name, text_at(change, "change")));
  }
  for (const json::Value& note : list_at(pool, "notes"))
    parts.push_back(fmt::format("note: {}", json::as_view(note.get_string())));
  if (parts.empty()) return "";
  const std::string name = text_at(pool, "pool");
  return fmt::format("{} {}{}: {}", name.empty() ? "config" : name, text_at(pool, "class"),
                     json::find_bool(pool, {"drain"}).value_or(false) ? " with drain" : "", fmt::join(parts, ", "));
}

}  // namespace

std::vector<DiffCase> read_diff_table() {
  TableReader reader;
  const std::string text = table_text();
  for (const std::string_view line : split(text, '\n')) reader.read(line);
  return reader.take();
}

std::string verdict_of(const InProcessOutput& output) {
  switch (output.exit_code) {
    case 0: return "same";
    case 2: return "differs";
    case 1: return "refused";
    default: return fmt::format("exit code {}", output.exit_code);
  }
}

namespace {

/// "after: after/a.yaml:12: pool worker: ..." without the place: a cluster has none.
std::string without_place(std::string line) {
  for (const std::string_view side : {"before", "after"}) {
    const std::string start = fmt::format("{0}: {0}", side);
    const std::size_t at = line.find(start);
    if (at == std::string::npos) continue;
    const std::size_t place = at + side.size() + 2;
    const std::size_t end = line.find(": ", place);
    if (end == std::string::npos || !is_digit(line[end - 1])) continue;
    line.erase(place, end + 2 - place);
  }
  return line;
}

}  // namespace

std::vector<std::string> summary_of(const InProcessOutput& output, const SidePlaces& places) {
  std::vector<std::string> lines;
  const auto document = json::parse(output.out);
  EXPECT_TRUE(document.ok()) << output.out << output.err;
  if (!document.ok()) return lines;
  for (const json::Value& change : list_at(*document, "setChanges")) {
    EXPECT_FALSE(text_at(change, "consequence").empty());
    lines.push_back(fmt::format("{} {}", text_at(change, "subject"), text_at(change, "change")));
  }
  for (const json::Value& pool : list_at(*document, "pools")) {
    if (std::string line = pool_line(pool); !line.empty()) lines.push_back(std::move(line));
  }
  for (const json::Value& unused : list_at(*document, "unused")) {
    lines.push_back(fmt::format("unused {}: {}", text_at(unused, "name"), text_at(unused, "why")));
  }
  constexpr std::string_view kWarning = "strake: warning: ", kError = "strake: ";
  for (const std::string_view said : split(output.err, '\n')) {
    std::string line =
        without_place(replaced(replaced(std::string(said), places.before, "before"), places.after, "after"));
    // What reaches no node is in the document already.
    if (line.empty() || line.find("is taken by no pool") != std::string::npos) continue;
    lines.push_back(line.starts_with(kWarning) ? "warns " + line.substr(kWarning.size())
                                               : "error " + line.substr(kError.size()));
  }
  return lines;
}

void accept_diff_table(const std::vector<std::vector<std::string>>& summaries) {
  std::string text;
  std::size_t next = 0;
  const auto add_expected = [&] {
    if (next == 0 || next > summaries.size()) return;
    for (const std::string& line : summaries[next - 1]) text += fmt::format("> {}\n", line);
  };
  const std::string table = table_text();
  bool in_case = false;
  for (const std::string_view line : split(std::string_view(table).substr(0, table.size() - 1), '\n')) {
    if (line.starts_with("> ")) continue;
    const bool begins = line.starts_with("case ");
    if (in_case && (line.empty() || line.starts_with('#') || begins)) {
      add_expected();
      in_case = false;
    }
    if (begins) {
      ++next;
      in_case = true;
    }
    text += std::string(line) + "\n";
  }
  if (in_case) add_expected();
  std::ofstream(table_file()) << text;
}

}  // namespace strake::test
