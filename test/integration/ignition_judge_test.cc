// Our judgement of Ignition configs beside that of coreos/ignition's own validator, on generated configs. What the two
// may disagree about is listed, with the reason, in docs/ignition-differences.md; nothing else is let pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "ignition/config.h"
#include "integration/ignition_generator.h"
#include "integration/ignition_judge.h"
#include "support/servers.h"

namespace strake::test {
namespace {

/// Severity, path, line and message in comparable form.
using Entry = std::tuple<std::string, std::string, std::int64_t, std::string>;
using Entries = std::vector<Entry>;

/// Messages without which part of the validator was never reached.
const std::set<std::string>& all_messages() {
  static const std::set<std::string> messages{
      "duplicate entry defined",
      "invalid config version (couldn't parse)",
      "unsupported config version",
      "invalid compression method",
      "file path includes link in config",
      "directory path includes link in config",
      "link path includes link in config",
      "link target is required",
      "hard link target is a directory",
      "user/group ignored for hard link",
      "disk device is required",
      "partition numbers collide",
      "partitions overlap",
      "overwrite must be false if source is unspecified",
      "source must be specified if verification is specified",
      "invalid filesystem format",
      "filesystem must specify format if label is specified",
      "format cannot be empty when path, label, uuid, wipeFilesystem, options, or mountOptions is specified",
      "filesystem labels cannot be longer than 16 characters when using ext4",
      "filesystem labels cannot be longer than 256 characters when using btrfs",
      "filesystem labels cannot be longer than 12 characters when using xfs",
      "filesystem labels cannot be longer than 15 characters when using swap",
      "filesystem labels cannot be longer than 11 characters when using vfat",
      "luks device labels cannot be longer than 47 characters",
      "device names cannot contain slashes",
      "invalid key-file source",
      "missing required custom clevis pin",
      "unsupported clevis pin",
      "missing required custom clevis config",
      "cannot use custom clevis config with tpm2, tang, or threshold",
      "thumbprint is required",
      "advertisement is not valid JSON",
      "illegal file mode",
      "setuid/setgid/sticky bits are not supported or functional in spec versions older than 3.6.0",
      "cannot set both id and name",
      "partition labels may not exceed 36 characters",
      "doesn't match the form \"01234567-89AB-CDEF-EDCB-A98765432101\"",
      "partition label will be truncated to text before the colon",
      "path not specified",
      "path not absolute",
      "path is not fully simplified",
      "filesystem overwrites partitioned device",
      "device matches disk with wipeTable enabled; filesystem will be wiped",
      "raid level is required",
      "spares unsupported for linear and raid0 arrays",
      "unrecognized raid level",
      "raid devices required",
      "shouldExist specified false with other options also specified",
      "shouldExist is false for a partition and other partition(s) has start or size 0",
      "a partition number >= 1 or a label must be specified",
      "cannot use the same partition label twice",
      "proxies must be http(s)",
      "insecure plaintext HTTP proxy specified for HTTPS resources",
      "path conflicts with systemd unit or dropin",
      "cannot use cex with clevis",
      "cannot use key file with cex",
      "invalid systemd unit extension",
      "invalid systemd drop-in extension",
      "source is required",
      "invalid url scheme",
      "unable to parse url",
      "unable to parse HTTP header",
      "HTTP header name can't be empty",
      "cannot use HTTP headers with this source scheme",
      "malformed hash specifier",
      "incorrect size for hash sum",
      "unrecognized hash function",
      "invalid S3 ARN format",
      "invalid S3 object VersionId",
      "wrong type",
      "unused key",
      "data URL",
      "null for an object",
      "no install section",
      "template without install section",
      "invalid unit content: line too long (max 2048 bytes)",
      "invalid unit content: unable to find end of section",
      "invalid unit content: found garbage after section name",
      "invalid unit content: EOF",
      "invalid unit content: unexpected newline encountered while parsing option name",
  };
  return messages;
}

/// One class for what the two sides word differently, or what names a value.
std::string message_class(const std::string& message, const std::string& path) {
  static const std::map<std::string, std::string> kPrefixes{
      {"json: cannot unmarshal", "wrong type"},
      {"expected a", "wrong type"},
      {"unused key ", "unused key"},
      {"context tree does not match", "null for an object"},
      {"null is read as an empty object", "null for an object"},
      {"unit \"", "no install section"},
      {"template unit \"", "template without install section"},
      {"data URL", "data URL"},
      {"not a data URL", "data URL"},
      {"invalid unit content: found garbage", "invalid unit content: found garbage after section name"},
  };
  for (const auto& [prefix, name] : kPrefixes) {
    if (message.starts_with(prefix)) return name;
  }
  // Everything else the validator says of a source comes from its data URL library.
  const bool about_source = path.ends_with(".source") || path.find(".merge.") != std::string::npos ||
                            path.find(".certificateAuthorities.") != std::string::npos;
  return about_source && !all_messages().contains(message) ? "data URL" : message;
}

/// Entries that say the same. A wrong type ends the validator's work, so one stands for all; the version is judged
/// before there are positions.
Entries comparable(Entries entries) {
  for (auto& [severity, path, line, message] : entries) {
    message = message_class(message, path);
    if (message == "wrong type" || message.find("config version") != std::string::npos) {
      path.clear();
      line = 0;
    }
    // Which of several colliding pairs the validator names is left to the order of a Go map.
    if (message == "partition numbers collide") {
      path = path.substr(0, path.rfind('.'));
      line = 0;
    }
  }
  std::ranges::sort(entries);
  entries.erase(std::unique(entries.begin(), entries.end(),
                            [](const Entry& a, const Entry& b) { return a == b && std::get<3>(a) == "wrong type"; }),
                entries.end());
  return entries;
}

Entries our_entries(std::string_view text) {
  Entries entries;
  for (const ignition::Finding& finding : ignition::check_text(text).report.findings) {
    std::string path = "$";
    for (const std::string& step : finding.steps) {
      path += "." + (step.starts_with('[') ? step.substr(1, step.size() - 2) : step);
    }
    entries.emplace_back(to_string(finding.severity), path, finding.position ? finding.position->line : 0,
                         finding.message);
  }
  return comparable(std::move(entries));
}

Entries judged_entries(const json::Value& verdict) {
  Entries entries;
  for (const json::Value& entry : json::find(verdict, {"entries"})->get_array()) {
    entries.emplace_back(*json::find_string(entry, {"kind"}), *json::find_string(entry, {"path"}),
                         *json::find_int(entry, {"line"}), *json::find_string(entry, {"message"}));
  }
  const std::string error = *json::find_string(verdict, {"error"});
  if (!error.empty() && error != "config is not valid") entries.emplace_back("error", "", 0, error);
  return comparable(std::move(entries));
}

bool is_fatal(const Entries& entries) {
  return std::ranges::any_of(entries, [](const Entry& entry) { return std::get<0>(entry) == "error"; });
}

std::string shown(const Entries& entries) {
  std::string text;
  for (const auto& [severity, path, line, message] : entries) {
    text += fmt::format("  {} at {}, line {}: {}\n", severity, path, line, message);
  }
  return text;
}

TEST(IgnitionJudge, AgreesOnGeneratedConfigs) {
  const auto programs = judge_programs();
  ASSERT_TRUE(programs.ok()) << programs.error().to_string();
  std::map<std::string, int> messages;
  for (int minor = 0; minor <= ignition::kLatestVersion.minor; ++minor) {
    const ignition::SpecVersion version{3, minor};
    IgnitionGenerator generator(static_cast<std::uint64_t>(minor) + 1);
    std::vector<std::string> configs;
    for (int i = 0; i < kConfigsPerVersion; ++i) configs.push_back(json::write_pretty(generator.config(version)));
    const auto verdicts = judge({(*programs / "judge-ignition3").string()}, configs);
    ASSERT_EQ(verdicts.size(), configs.size());
    int valid = 0;
    int disagreements = 0;
    for (std::size_t i = 0; i < configs.size(); ++i) {
      const Entries theirs = judged_entries(verdicts[i]);
      const Entries ours = our_entries(configs[i]);
      if (!is_fatal(theirs)) ++valid;
      for (const Entry& entry : theirs) ++messages[std::get<3>(entry)];
      if (ours == theirs) continue;
      if (++disagreements <= 3) {
        ADD_FAILURE() << to_string(version) << ", config " << i << "\nvalidator:\n"
                      << shown(theirs) << "ours:\n"
                      << shown(ours) << configs[i].substr(0, 6000);
      }
    }
    for (std::size_t i = 0; i < kProgramRunsPerVersion; ++i) {
      EXPECT_EQ(program_accepts(*programs / "ignition-validate", configs[i]), !is_fatal(judged_entries(verdicts[i])))
          << configs[i];
    }
    expect_agreement(version, valid, disagreements, generator.members());
  }
  expect_every_message(all_messages(), messages);
}

/// The first table of docs/ignition-differences.md. A row that no longer holds must leave the table.
TEST(IgnitionJudge, DiffersWhereTheTableSays) {
  const auto programs = judge_programs();
  ASSERT_TRUE(programs.ok()) << programs.error().to_string();
  struct Row {
    std::string_view name;
    std::string_view version;
    std::string rest;  ///< behind the ignition section
    bool they_accept;
  };
  const auto file_with = [](std::string_view members) {
    return fmt::format(R"(,"storage":{{"files":[{{"path":"/a",{}}}]}})", members);
  };
  const auto many_partitions = [](int count) {
    std::string list;
    for (int i = 1; i <= count; ++i) list += fmt::format(R"({}{{"number":{}}})", i == 1 ? "" : ",", i);
    return fmt::format(R"(,"storage":{{"disks":[{{"device":"/dev/x","partitions":[{}]}}]}})", list);
  };
  const Row rows[] = {
      {"a key twice", "3.5.0", R"(,"storage":{},"storage":{})", true},
      {"keys that differ in case", "3.5.0", R"(,"storage":{},"Storage":{})", true},
      {"the experimental spec", "3.6.0-experimental", "", true},
      {"leading zeros", "03.5.0", "", true},
      {"not UTF-8", "3.5.0", ",\"passwd\":{\"users\":[{\"name\":\"a\xFF\"}]}", true},
      {"an unpaired surrogate", "3.5.0", R"(,"passwd":{"users":[{"name":"\ud800"}]})", true},
      {"deep nesting", "3.5.0", ",\"x\":" + std::string(150, '[') + std::string(150, ']'), true},
      {"a long path", "3.5.0", file_with("\"x\":1},{\"path\":\"/" + std::string(4096, 'a') + "\""), true},
      {"many partitions", "3.5.0", many_partitions(257), true},
      {"negative zero", "3.5.0", file_with(R"("mode":-0)"), true},
      {"a key twice in an advertisement", "3.5.0",
       R"(,"storage":{"luks":[{"name":"l","device":"/dev/x","clevis":{"tang":[{"url":"http://t","thumbprint":"t","advertisement":"{\"a\":1,\"a\":2}"}]}}]})",
       true},
  };
  for (const Row& row : rows) {
    const std::string config = fmt::format(R"({{"ignition":{{"version":"{}"}}{}}})", row.version, row.rest);
    EXPECT_EQ(program_accepts(*programs / "ignition-validate", config), row.they_accept) << row.name;
    EXPECT_EQ(ignition::check_text(config).report.is_fatal(), row.they_accept) << row.name;
  }
}

}  // namespace
}  // namespace strake::test
