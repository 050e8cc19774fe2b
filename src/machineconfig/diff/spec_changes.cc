#include "machineconfig/diff/spec_changes.h"

#include <functional>
#include <map>

namespace strake::machineconfig {

namespace {

using SameItem = std::function<bool(const json::Value&, const json::Value&)>;

std::vector<ChangedName> changed_names(const json::Array& before, const json::Array& after, std::string_view key,
                                       const SameItem& same) {
  const auto name_of = [key](const json::Value& item) { return json::find_string(item, {key}).value_or(""); };
  std::map<std::string, const json::Value*> old_items;
  for (const json::Value& item : before) old_items.emplace(name_of(item), &item);
  std::vector<ChangedName> changed;
  for (const json::Value& item : after) {
    const std::string name = name_of(item);
    const auto known = old_items.find(name);
    if (known == old_items.end()) {
      changed.push_back({name, ChangeKind::kAdded});
      continue;
    }
    if (!same(*known->second, item)) changed.push_back({name, ChangeKind::kChanged});
    old_items.erase(known);
  }
  for (const json::Value& item : before) {
    if (const std::string name = name_of(item); old_items.contains(name))
      changed.push_back({name, ChangeKind::kRemoved});
  }
  return changed;
}

bool same_as_written(const json::Value& before, const json::Value& after) { return before == after; }

bool same_on_disk(const json::Value& before, const json::Value& after) {
  if (before == after) return true;
  const auto old_file = decode_file(before), new_file = decode_file(after);
  // What cannot be decoded is compared as written.
  return old_file.ok() && new_file.ok() && *old_file == *new_file;
}

}  // namespace

std::string_view to_string(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kAdded: return "added";
    case ChangeKind::kRemoved: return "removed";
    case ChangeKind::kChanged: return "changed";
  }
  return "unknown";
}

Result<ignition::FileEntry> decode_file(const json::Value& file) {
  json::Value alone = file;
  if (alone.is_object()) alone.get_object().erase("append");
  const json::Value config = json::Object{{"storage", json::Object{{"files", json::Array{std::move(alone)}}}}};
  STRAKE_TRY(std::vector<ignition::FileEntry> entries, ignition::files_of(config));
  return std::move(entries.front());
}

SpecChanges find_spec_changes(const ComparableSpec& before, const ComparableSpec& after, FileComparison comparison,
                              const LayeredImages& images) {
  SpecChanges changes;
  changes.layered = !images.before.empty() || !images.after.empty();
  changes.left_layering = changes.layered && images.after.empty();
  changes.os_image = changes.layered ? images.before != images.after : before.os_image != after.os_image;
  changes.kernel_arguments = before.kernel_arguments != after.kernel_arguments;
  changes.fips = before.fips != after.fips;
  changes.kernel_type = before.kernel_type != after.kernel_type;
  changes.extensions = before.extensions != after.extensions;
  changes.passwd = !same_member(before, after, {"passwd"});
  changes.files = !same_member(before, after, {"storage", "files"});
  changes.units = !same_member(before, after, {"systemd", "units"});
  if (changes.files) {
    changes.changed_files =
        changed_names(items_at(before.config, {"storage", "files"}), items_at(after.config, {"storage", "files"}),
                      "path", comparison == FileComparison::kDecoded ? same_on_disk : same_as_written);
  }
  if (changes.units) {
    changes.changed_units = changed_names(items_at(before.config, {"systemd", "units"}),
                                          items_at(after.config, {"systemd", "units"}), "name", same_as_written);
  }
  return changes;
}

}  // namespace strake::machineconfig
