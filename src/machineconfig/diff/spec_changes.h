// Which parts of a rendered config differ, as flags and names: what the choice of actions starts from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ignition/config.h"
#include "machineconfig/merge/comparable_spec.h"

namespace strake::machineconfig {

enum class ChangeKind { kAdded, kRemoved, kChanged };
std::string_view to_string(ChangeKind kind);

/// What makes two files the same. Everywhere else the two agree.
enum class FileComparison {
  kAsWritten,  ///< as the operator compares: another encoding of the same contents is a change
  kDecoded,    ///< calmer: what a node would have on disk. Strake's own planner and agent use this
};

struct ChangedName {
  std::string name;
  ChangeKind kind = ChangeKind::kChanged;

  bool operator==(const ChangedName&) const = default;
};

/// Files, units and users are compared deeply: their order counts, and so does an empty list against none. Such a
/// difference sets the flag and names nothing.
struct SpecChanges {
  bool os_image = false;
  bool kernel_arguments = false;
  bool fips = false;
  bool passwd = false;
  bool files = false;
  bool units = false;
  bool kernel_type = false;
  bool extensions = false;
  bool layered = false;        ///< one side runs an image built for its pool; `os_image` then speaks of that image
  bool left_layering = false;  ///< the new side does not
  /// In the order of the new config, then what is gone in the order of the old one. (The operator's order is random.)
  std::vector<ChangedName> changed_files;
  std::vector<ChangedName> changed_units;
};

/// The images built for a pool, where it has any.
struct LayeredImages {
  std::string before;
  std::string after;
};

SpecChanges find_spec_changes(const ComparableSpec& before, const ComparableSpec& after,
                              FileComparison comparison = FileComparison::kAsWritten, const LayeredImages& images = {});

/// One item of storage.files with its contents decoded; what it appends is left out.
Result<ignition::FileEntry> decode_file(const json::Value& file);

}  // namespace strake::machineconfig
