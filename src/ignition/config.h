// Ignition configs, spec 2.0 to 2.2 and 3.0 to 3.5: check, parse, convert, merge, and what a node needs of them.
//
// A config stays JSON, normalised: only members of the spec, no nulls, no empty lists or objects, version 3.5.0. That
// is the form the merge works on and the rendered name is a hash of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "ignition/report.h"
#include "ignition/version.h"

namespace strake::ignition {

/// A config as its own spec version reads it, and everything a check found.
struct Checked {
  SpecVersion version;
  json::Value config;  ///< members of the spec only, under their own names, no nulls; empty when the report is fatal
  Report report;
  std::optional<Code> version_problem;  ///< kInvalidArgument: not a version at all; kUnsupported: not one we know
};

/// The JSON of a config in any form machines are given it: as it is, gzipped, or gzipped and in base64 (with line
/// breaks or not). What decompresses to more than 64 MiB is kExhausted.
Result<std::string> decode_config_bytes(std::string_view bytes);

/// Judges a config as the `validate` program of coreos/ignition does (2.24.0 for spec 3, 0.35.0 for spec 2);
/// docs/ignition-differences.md lists where the two part. Findings carry line and column.
Checked check_text(std::string_view text);

/// The same for a config that is part of a larger document, whose YAML may have written 420 as 420.0.
Checked check(const json::Value& config);

/// check(), and what a node could not apply: contents that do not decompress, names that leave their folder. Raises any
/// spec to 3.5.0, with the result the Machine Config Operator gets. The first error is returned; it names the member
/// ("storage.files[2].path").
Result<json::Value> parse(const json::Value& config);

/// The same config in another spec version, 2.2 or 3.1 to 3.5. What the target cannot express is refused by name;
/// nothing is dropped, and the order of entries stays.
Result<json::Value> convert(const json::Value& config, SpecVersion to);

/// `{"ignition":{"version":"3.5.0"}}`
json::Value empty_config();

/// The child laid over the parent, member by member, as coreos/ignition merges configs. Both normalised.
json::Value merge(const json::Value& parent, const json::Value& child);

/// The same for any number of configs, the first at the bottom. Takes the configs apart: what wins is moved, not
/// copied.
json::Value merge_all(std::vector<json::Value> configs);

/// Drops nulls, empty lists, and objects left without members.
void normalise(json::Value& config);

struct FileEntry {
  std::string path;
  std::string contents;
  std::uint32_t mode = 0644;
  std::optional<std::int64_t> user_id;
  std::optional<std::int64_t> group_id;
  std::string user_name;
  std::string group_name;

  bool operator==(const FileEntry&) const = default;
};

struct DropinEntry {
  std::string name;
  std::string contents;

  bool operator==(const DropinEntry&) const = default;
};

struct UnitEntry {
  std::string name;
  std::optional<std::string> contents;
  std::optional<bool> enabled;
  std::optional<bool> mask;
  std::vector<DropinEntry> dropins;

  bool operator==(const UnitEntry&) const = default;
};

/// Files with their contents decoded (data URLs, gzip); a file whose contents must be fetched is refused.
Result<std::vector<FileEntry>> files_of(const json::Value& config);
std::vector<UnitEntry> units_of(const json::Value& config);

}  // namespace strake::ignition
