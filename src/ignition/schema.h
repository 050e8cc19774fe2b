// The members of an Ignition config as a table, one for spec 3.x and one for spec 2.x: their types, since which minor
// version, how lists merge, and what is checked. Reading, validating, converting and merging all walk these tables.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "codec/json.h"
#include "ignition/version.h"

namespace strake::ignition {

enum class MemberType { kString, kInteger, kBool, kObject, kObjectList, kStringList };

enum class ListMerge {
  kByKey,        ///< an item of the child with the same key merges into the parent's; others are appended
  kConcatenate,  ///< both lists one after the other, duplicates kept
};

class CheckedObject;
struct StructSchema;

struct Member {
  std::string_view name;
  MemberType type;
  int since_minor = 0;                    ///< 3 for "new in spec 3.3", or in 2.3 in the table of spec 2
  const StructSchema* element = nullptr;  ///< of an object or of each list item
  ListMerge list_merge = ListMerge::kByKey;
  std::string_view key_group = "";  ///< lists of one object with the same group share one space of keys
};

struct StructSchema {
  std::span<const Member> members;
  std::string_view key;  ///< the member that identifies an item in a list; "" when it never is one
  void (*check)(const CheckedObject& object) = nullptr;  ///< what validation looks at beyond types and keys

  /// Looked at first; after an error nothing inside the object is judged, because more would follow from it.
  void (*check_whole)(const CheckedObject& object) = nullptr;

  const Member* find(std::string_view name) const;

  /// As Go's JSON decoder finds it: exactly, else by the name without regard to case.
  const Member* find_any_case(std::string_view name) const;
};

/// What identifies an item of a list: the text itself, or the key member (partitions: their number, else their label).
std::string item_key(const json::Value& item, const StructSchema* element);

const StructSchema& config_schema(SpecVersion version = kLatestVersion);
const StructSchema& config2_schema();

}  // namespace strake::ignition
