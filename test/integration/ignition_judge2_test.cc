// Our judgement of Ignition 2.x configs beside that of the last validator that knew them (coreos/ignition 0.35.0). It
// names no members, only the line on which the value, or an object around it, ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "ignition/config.h"
#include "integration/ignition_generator.h"
#include "integration/ignition_judge.h"
#include "support/servers.h"

namespace strake::test {
namespace {

/// Messages without which part of the validator was never reached.
const std::set<std::string>& all_messages2() {
  static const std::set<std::string> messages{
      "cannot set both append and overwrite to true",
      "cannot set both id and name",
      "cannot use both create object and mount-level options field",
      "cannot use both create object and wipeFilesystem field",
      "cannot use both the create object and the user-level gecos field",
      "cannot use both the create object and the user-level groups field",
      "cannot use both the create object and the user-level homeDir field",
      "cannot use both the create object and the user-level noCreateHome field",
      "cannot use both the create object and the user-level noLogInit field",
      "cannot use both the create object and the user-level noUserGroup field",
      "cannot use both the create object and the user-level primaryGroup field",
      "cannot use both the create object and the user-level shell field",
      "cannot use both the create object and the user-level system field",
      "cannot use both the create object and the user-level uid field",
      "data URL",
      "disk device is required",
      "doesn't match the form \"01234567-89AB-CDEF-EDCB-A98765432101\"",
      "filesystem has both mount and path defined",
      "filesystem is missing mount or path",
      "filesystem labels cannot be longer than 11 characters when using vfat",
      "filesystem labels cannot be longer than 12 characters when using xfs",
      "filesystem labels cannot be longer than 15 characters when using swap",
      "filesystem labels cannot be longer than 16 characters when using ext4",
      "filesystem labels cannot be longer than 256 characters when using btrfs",
      "illegal file mode",
      "incorrect size for hash sum",
      "invalid S3 object VersionId",
      "invalid compression method",
      "invalid filesystem format",
      "invalid networkd drop-in extension",
      "invalid networkd unit extension",
      "invalid systemd drop-in extension",
      "invalid systemd unit extension",
      "invalid unit content: EOF",
      "invalid unit content: found garbage after section name",
      "invalid unit content: line too long (max 2048 bytes)",
      "invalid unit content: unable to find end of section",
      "invalid unit content: unexpected newline encountered while parsing option name",
      "invalid url scheme",
      "malformed hash specifier",
      "no filesystem specified",
      "no install section",
      "nonexistent filesystem",
      "not read at all",
      "partition label will be truncated to text before the colon",
      "partition labels may not exceed 36 characters",
      "partition numbers collide",
      "partitions misaligned",
      "partitions overlap",
      "path not absolute",
      "permissions unset, defaulting to 0000",
      "shadowed filesystem",
      "spares unsupported for arrays with a level greater than 0",
      "the validator crashed",
      "the create object has been deprecated in favor of mount-level options",
      "the create object has been deprecated in favor of user-level options",
      "unable to parse url",
      "unrecognized hash function",
      "unrecognized raid level",
      "unused key",
  };
  return messages;
}

/// One class for what the two sides word differently, or what names a value.
std::string message_class2(const std::string& message) {
  static const std::map<std::string, std::string> kPrefixes{
      {"unused key ", "unused key"},
      {"Config has unrecognized key", "unused key"},
      {"unit \"", "no install section"},
      {"invalid unit content: found garbage", "invalid unit content: found garbage after section name"},
  };
  for (const auto& [prefix, name] : kPrefixes) {
    if (message.starts_with(prefix)) return name;
  }
  if (message.find(" references nonexistent filesystem ") != std::string::npos) return "nonexistent filesystem";
  if (message.find(" shadows exising filesystem ") != std::string::npos) return "shadowed filesystem";
  // Everything else comes from the reader of data URLs.
  return all_messages2().contains(message) ? message : "data URL";
}

struct Entry2 {
  std::string severity;
  std::string message;
  std::set<std::int64_t> lines;  ///< the validator names one; ours may match any of these

  std::string shown() const { return fmt::format("  {}: {} (line {})\n", severity, message, fmt::join(lines, " or ")); }
};

using Entries2 = std::vector<Entry2>;

/// The lines on which the value a finding is about, or one of the objects around it, ends in the pretty text.
std::set<std::int64_t> end_lines(const ignition::Finding& finding, const json::Value& config, std::string_view text) {
  std::vector<json::Wanted> wanted{{}};
  std::vector<const json::Value*> values{&config};
  for (const std::string& step : finding.steps) {
    const json::Value* around = values.back();
    const json::Value* inside = nullptr;
    if (step.starts_with('[')) {
      const auto index = static_cast<std::size_t>(std::stoul(step.substr(1)));
      if (around->is_array() && index < around->get_array().size()) inside = &around->get_array()[index];
    } else if (around->is_object()) {
      inside = around->get_object().if_contains(step);
    }
    if (inside == nullptr) break;
    wanted.push_back({wanted.back().steps, false});
    wanted.back().steps.push_back(step);
    values.push_back(inside);
  }
  const auto positions = json::locate(text, wanted);
  std::set<std::int64_t> lines;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string pretty = json::write_pretty(*values[i]);
    const auto height = std::count(pretty.begin(), pretty.end(), '\n') - 1;
    lines.insert(static_cast<std::int64_t>(positions[i].line) + height);
  }
  if (finding.at_key) lines = {static_cast<std::int64_t>(finding.position->line)};
  return lines;
}

Entries2 our_entries2(const json::Value& config, std::string_view text) {
  Entries2 entries;
  for (const ignition::Finding& finding : ignition::check_text(text).report.findings) {
    if (finding.message == "null is read as an empty object") continue;  // spec 2's validator is silent
    entries.push_back(
        {std::string(to_string(finding.severity)), message_class2(finding.message), end_lines(finding, config, text)});
  }
  return entries;
}

/// nullopt when the validator could not read the config at all: then it says why in words that depend on the oldest
/// spec it tried.
std::optional<Entries2> judged_entries2(const json::Value& verdict) {
  const std::string error = *json::find_string(verdict, {"error"});
  if (!error.empty() && error != "config is not valid") return std::nullopt;
  Entries2 entries;
  for (const json::Value& entry : json::find(verdict, {"entries"})->get_array()) {
    const std::string message = *json::find_string(entry, {"message"});
    if (message.starts_with("json: ")) return std::nullopt;
    const std::string kind = *json::find_string(entry, {"kind"});
    if (kind == "info") continue;  // which name an unused key resembles
    entries.push_back({kind, message_class2(message), {*json::find_int(entry, {"line"})}});
  }
  return entries;
}

bool is_fatal2(const Entries2& entries) {
  return std::ranges::find(entries, "error", &Entry2::severity) != entries.end();
}

/// Pairs each entry of the validator with one of ours; what is left over on either side is returned.
struct Unpaired {
  Entries2 theirs;
  Entries2 ours;
};
Unpaired unpaired(Entries2 theirs, Entries2 ours) {
  Unpaired left;
  // Those of ours that could stand for fewest lines are given away first.
  std::ranges::stable_sort(ours, {}, [](const Entry2& entry) { return entry.lines.size(); });
  for (Entry2& entry : theirs) {
    const auto match = std::ranges::find_if(ours, [&](const Entry2& own) {
      return own.severity == entry.severity && own.message == entry.message && own.lines.contains(*entry.lines.begin());
    });
    if (match == ours.end()) {
      left.theirs.push_back(std::move(entry));
    } else {
      ours.erase(match);
    }
  }
  // Inside an object it refused, the validator does not look for unused keys.
  if (is_fatal2(theirs)) {
    std::erase_if(ours, [](const Entry2& entry) { return entry.message == "unused key"; });
  }
  left.ours = std::move(ours);
  return left;
}

TEST(IgnitionJudge2, AgreesOnGeneratedConfigs) {
  const auto programs = judge_programs();
  ASSERT_TRUE(programs.ok()) << programs.error().to_string();
  std::map<std::string, int> messages;
  for (int minor = 0; minor <= 2; ++minor) {
    const ignition::SpecVersion version{2, minor};
    IgnitionGenerator generator(static_cast<std::uint64_t>(minor) + 31);
    std::vector<json::Value> configs;
    std::vector<std::string> texts;
    for (int i = 0; i < kConfigsPerVersion; ++i) {
      configs.push_back(generator.config(version));
      texts.push_back(json::write_pretty(configs.back()));
    }
    const auto verdicts = judge({(*programs / "judge-ignition2").string(), "validate"}, texts);
    ASSERT_EQ(verdicts.size(), texts.size());
    int valid = 0;
    int disagreements = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (json::find_string(verdicts[i], {"error"})->starts_with("panic")) {
        // Spec 2.0's validator falls over URLs with a user name; see docs/ignition-differences.md.
        ++messages["the validator crashed"];
        EXPECT_NE(texts[i].find("//u:p@"), std::string::npos) << texts[i];
        continue;
      }
      const auto theirs = judged_entries2(verdicts[i]);
      const bool they_accept = theirs && !is_fatal2(*theirs);
      valid += they_accept ? 1 : 0;
      if (i < kProgramRunsPerVersion) {
        EXPECT_EQ(program_accepts(*programs / "ignition2-validate", texts[i]), they_accept) << texts[i];
      }
      if (!theirs) {
        ++messages["not read at all"];
        if (ignition::check_text(texts[i]).report.is_fatal()) continue;
        ++disagreements;
        ADD_FAILURE() << "we read what the validator does not\n" << texts[i].substr(0, 6000);
        continue;
      }
      for (const Entry2& entry : *theirs) ++messages[entry.message];
      const Unpaired left = unpaired(*theirs, our_entries2(configs[i], texts[i]));
      if (left.theirs.empty() && left.ours.empty()) continue;
      if (++disagreements > 3) continue;
      std::string shown = "only the validator:\n";
      for (const Entry2& entry : left.theirs) shown += entry.shown();
      shown += "only we:\n";
      for (const Entry2& entry : left.ours) shown += entry.shown();
      ADD_FAILURE() << to_string(version) << ", config " << i << "\n" << shown << texts[i].substr(0, 6000);
    }
    expect_agreement(version, valid, disagreements, generator.members());
  }
  expect_every_message(all_messages2(), messages);
}

/// The second table of docs/ignition-differences.md. A row that no longer holds must leave the table.
TEST(IgnitionJudge2, DiffersWhereTheTableSays) {
  const auto programs = judge_programs();
  ASSERT_TRUE(programs.ok()) << programs.error().to_string();
  struct Row {
    std::string_view name;
    std::string config;
    bool they_accept;
  };
  const auto of_version = [](std::string_view version, std::string_view rest) {
    return fmt::format(R"({{"ignition":{{"version":"{}"}}{}}})", version, rest);
  };
  const Row rows[] = {
      {"2.3", of_version("2.3.0", ""), true},
      {"2.4", of_version("2.4.0", ""), true},
      {"2.5", of_version("2.5.0-experimental", ""), true},
      {"1", R"({"ignitionVersion":1})", true},
      {"a user name",
       of_version("2.0.0",
                  R"(,"storage":{"files":[{"filesystem":"root","path":"/a","contents":{"source":"http://u@h/"}}]})"),
       false},
      {"a large number",
       of_version("2.0.0", R"(,"storage":{"disks":[{"device":"/a","partitions":[{"size":9223372036854775808}]}]})"),
       true},
      {"a key twice", of_version("2.2.0", R"(,"storage":{},"storage":{})"), true},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(program_accepts(*programs / "ignition2-validate", row.config), row.they_accept) << row.name;
    EXPECT_EQ(ignition::check_text(row.config).report.is_fatal(), row.they_accept) << row.name;
  }
}

}  // namespace
}  // namespace strake::test
