// Ignition configs, spec 3.0 to 3.5: parse, merge, and what a node needs of them.
//
// A config stays JSON, normalised: only members of the spec, no nulls, no empty lists or objects, version 3.5.0. That
// is the form the merge works on and the rendered name is a hash of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

namespace strake::ignition {

/// Checks version, member types, paths, names, duplicate keys and file contents; drops members the config's own version
/// does not know; raises the version to 3.5.0. Errors name the member ("storage.files[2].path").
Result<json::Value> parse(const json::Value& config);

/// `{"ignition":{"version":"3.5.0"}}`
json::Value empty_config();

/// The child laid over the parent, member by member, as the Ignition specification merges configs. Both normalised.
json::Value merge(const json::Value& parent, const json::Value& child);

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
