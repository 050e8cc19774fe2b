// Fields of our kinds: each view lists the paths it uses in one FieldTable, and can name no other (the compiler
// checks); the tests look every path of every table up in the schema of its CRD. So a view cannot misspell a field.
//
//   inline constexpr FieldTable kPoolFields{"machineconfigpools.machineconfiguration.openshift.io",
//                                           "spec.paused", "status.conditions", "status.conditions[].type"};
//   bool paused = flag_at(pool, kPoolFields["spec.paused"]);
//
// Reading: what is absent, null or of another type reads as empty. Server schemas keep wrong types out; a view is not
// the place to report them. Writing: objects on the way are created, and nothing else is touched.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/json.h"

namespace strake::api {

/// A path of member names, "spec.configuration.name"; "[]" after a name stands for every item of that list.
class Field {
 public:
  constexpr std::string_view path() const { return path_; }

 private:
  template <std::size_t N>
  friend class FieldTable;
  constexpr explicit Field(std::string_view path) : path_(path) {}
  std::string_view path_;
};

template <std::size_t N>
class FieldTable {
 public:
  template <typename... Paths>
  consteval explicit FieldTable(std::string_view qualified_kind, Paths... paths)
      : qualified_kind_(qualified_kind), paths_{std::string_view(paths)...} {}

  /// Does not compile for a path that is not in the table.
  consteval Field operator[](std::string_view path) const {
    for (std::string_view known : paths_) {
      if (known == path) return Field(known);
    }
    throw "the path is not in this FieldTable";
  }

  /// "machineconfigs.machineconfiguration.openshift.io".
  constexpr std::string_view qualified_kind() const { return qualified_kind_; }
  constexpr std::span<const std::string_view> paths() const { return paths_; }

 private:
  std::string_view qualified_kind_;
  std::array<std::string_view, N> paths_;
};

template <typename... Paths>
FieldTable(std::string_view, Paths...) -> FieldTable<sizeof...(Paths)>;

/// nullptr when a step is missing. `field` must not pass through a list.
const json::Value* find_field(const json::Value& object, Field field);
json::Value* find_field(json::Value& object, Field field);

std::string text_at(const json::Value& object, Field field);
std::int64_t int_at(const json::Value& object, Field field);
bool flag_at(const json::Value& object, Field field);
/// Strings of a list; items of other types are left out.
std::vector<std::string> texts_at(const json::Value& object, Field field);
std::map<std::string, std::string> text_map_at(const json::Value& object, Field field);
/// The list itself, or an empty one.
const json::Array& items_at(const json::Value& object, Field field);
/// For an item of a list: the part of the path after the last "[]".
std::string item_text_at(const json::Value& item, Field field);

void set_field(json::Value& object, Field field, json::Value value);
void set_text(json::Value& object, Field field, std::string_view text);

}  // namespace strake::api
