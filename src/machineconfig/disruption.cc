#include "machineconfig/disruption.h"

#include <algorithm>
#include <map>

#include "ignition/config.h"

namespace strake::machineconfig {

namespace {

// Files the platform's default policy changes on a running node without any action.
constexpr std::string_view kQuietFiles[] = {"/var/lib/kubelet/config.json"};
constexpr std::string_view kQuietFolders[] = {"/etc/nmstate/openshift/"};

bool is_quiet(std::string_view path) {
  return std::any_of(std::begin(kQuietFiles), std::end(kQuietFiles),
                     [&](std::string_view file) { return path == file; }) ||
         std::any_of(std::begin(kQuietFolders), std::end(kQuietFolders),
                     [&](std::string_view folder) { return path.starts_with(folder); });
}

std::vector<std::string> strings_at(const json::Value& spec, std::string_view field) {
  std::vector<std::string> items;
  const json::Value* list = json::find(spec, {field});
  if (list == nullptr || !list->is_array()) return items;
  for (const json::Value& item : list->get_array()) {
    if (item.is_string()) items.emplace_back(json::as_view(item.get_string()));
  }
  return items;
}

json::Value config_of(const json::Value& spec) {
  const json::Value* config = json::find(spec, {"config"});
  return config == nullptr || config->is_null() ? ignition::empty_config() : *config;
}

/// Names in `after` missing from `before`, and the other way round, as reasons.
void compare_lists(const std::vector<std::string>& before, const std::vector<std::string>& after, std::string_view noun,
                   Consequence& consequence) {
  const auto missing_from = [](const std::vector<std::string>& list, const std::string& item) {
    return std::find(list.begin(), list.end(), item) == list.end();
  };
  const std::size_t reasons_before = consequence.reasons.size();
  for (const std::string& item : after) {
    if (missing_from(before, item)) consequence.reasons.push_back(fmt::format("{} {} added", noun, item));
  }
  for (const std::string& item : before) {
    if (missing_from(after, item)) consequence.reasons.push_back(fmt::format("{} {} removed", noun, item));
  }
  if (consequence.reasons.size() == reasons_before && before != after) {
    consequence.reasons.push_back(fmt::format("{}s in another order", noun));
  }
  if (consequence.reasons.size() != reasons_before) consequence.disruption = DisruptionClass::kReboot;
}

template <typename Entry, typename KeyOf>
void compare_entries(const std::vector<Entry>& before, const std::vector<Entry>& after, KeyOf key_of,
                     std::string_view noun, Consequence& consequence) {
  std::map<std::string, const Entry*> old_entries;
  for (const Entry& entry : before) old_entries.emplace(key_of(entry), &entry);
  const auto note = [&](const std::string& key, std::string_view verb) {
    consequence.reasons.push_back(fmt::format("{} {} {}", noun, key, verb));
    if (noun != "file" || !is_quiet(key)) consequence.disruption = DisruptionClass::kReboot;
  };
  for (const Entry& entry : after) {
    const std::string key = key_of(entry);
    const auto found = old_entries.find(key);
    if (found == old_entries.end()) {
      note(key, "added");
    } else {
      if (!(*found->second == entry)) note(key, "changed");
      old_entries.erase(found);
    }
  }
  for (const auto& [key, entry] : old_entries) note(key, "removed");
}

}  // namespace

std::string_view to_string(DisruptionClass disruption) {
  switch (disruption) {
    case DisruptionClass::kNone: return "none";
    case DisruptionClass::kReboot: return "reboot";
  }
  return "unknown";
}

Result<DisruptionClass> parse_disruption_class(std::string_view text) {
  if (text == "none") return DisruptionClass::kNone;
  if (text == "reboot") return DisruptionClass::kReboot;
  return error(Code::kInvalidArgument, "'{}' is not a disruption class; known are none and reboot", text);
}

Result<Consequence> consequence_of(const json::Value* from, const json::Value& to) {
  if (from == nullptr) return Consequence{DisruptionClass::kReboot, {"first configuration of this node"}};
  Consequence consequence;
  const auto compare_text = [&](std::string_view field, std::string_view phrase) {
    if (json::find_string(*from, {field}) == json::find_string(to, {field})) return;
    consequence.reasons.emplace_back(phrase);
    consequence.disruption = DisruptionClass::kReboot;
  };
  compare_text("osImageURL", "another OS image");
  compare_text("kernelType", "another kernel type");
  if (json::find_bool(*from, {"fips"}).value_or(false) != json::find_bool(to, {"fips"}).value_or(false)) {
    return error(Code::kInvalidArgument, "spec.fips cannot change on a running node; install it anew");
  }
  compare_lists(strings_at(*from, "kernelArguments"), strings_at(to, "kernelArguments"), "kernel argument",
                consequence);
  compare_lists(strings_at(*from, "extensions"), strings_at(to, "extensions"), "extension", consequence);
  const json::Value old_config = config_of(*from), new_config = config_of(to);
  STRAKE_TRY(const auto old_files, ignition::files_of(old_config));
  STRAKE_TRY(const auto new_files, ignition::files_of(new_config));
  compare_entries(old_files, new_files, [](const ignition::FileEntry& file) { return file.path; }, "file", consequence);
  compare_entries(
      ignition::units_of(old_config), ignition::units_of(new_config),
      [](const ignition::UnitEntry& unit) { return unit.name; }, "unit", consequence);
  return consequence;
}

}  // namespace strake::machineconfig
