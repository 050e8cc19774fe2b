// The members of an Ignition 3.x config as a table: their types, since which minor version, and how lists merge.
// Parsing, pruning and merging all walk this one table.
#pragma once

#include <span>
#include <string_view>

namespace strake::ignition {

enum class MemberType { kString, kInteger, kBool, kObject, kObjectList, kStringList };

enum class ListMerge {
  kByKey,        ///< an item of the child with the same key merges into the parent's; others are appended
  kConcatenate,  ///< both lists one after the other, duplicates kept
};

struct StructSchema;

struct Member {
  std::string_view name;
  MemberType type;
  int since_minor = 0;                    ///< 3 for "new in spec 3.3"
  const StructSchema* element = nullptr;  ///< of an object or of each list item
  ListMerge list_merge = ListMerge::kByKey;
};

struct StructSchema {
  std::span<const Member> members;
  std::string_view key;  ///< the member that identifies an item in a list; "" when it never is one

  const Member* find(std::string_view name) const;
};

const StructSchema& config_schema();

constexpr int kLatestMinor = 5;

}  // namespace strake::ignition
