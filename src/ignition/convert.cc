#include <algorithm>
#include <vector>

#include "ignition/config.h"
#include "ignition/schema.h"
#include "ignition/translate.h"

namespace strake::ignition {

namespace {

constexpr SpecVersion kSpec2Written{2, 2};
constexpr SpecVersion kOldestSpec3Written{3, 1};
constexpr SpecVersion kAboveSpec2{3, 2};       // the spec that 2.2 is lowered from
constexpr SpecVersion kTextsMayBeUnset{3, 3};  // until then a link always had a target, a clevis pin its config
constexpr SpecVersion kSpecialModesKept{3, 4};
constexpr std::int64_t kSpecialBits = 07000;

json::Array* storage_list(json::Value& config, std::string_view name) {
  json::Value* list = json::find(config, {"storage", name});
  return list == nullptr ? nullptr : &list->get_array();
}

/// Members as the Go types behind the specs have no other way to write them: what names a thing always, even when it is
/// empty, and a partition's number never when it is 0.
void write_as_go(json::Value& config, const StructSchema& schema) {
  for (const Member& member : schema.members) {
    json::Value* value = json::find(config, {member.name});
    if (value == nullptr) continue;
    if (member.type == MemberType::kObject) write_as_go(*value, *member.element);
    if (member.type != MemberType::kObjectList) continue;
    const std::string_view key = member.element->key;
    const bool is_name = key == "name" || key == "path" || key == "device";
    for (json::Value& item : value->get_array()) {
      if (is_name) item.get_object().emplace(key, "");
      if (key == "number" && json::find_int(item, {key}) == 0) item.get_object().erase(key);
      write_as_go(item, *member.element);
    }
  }
}

/// Whether a member that an older spec does not know says the same as its absence.
bool is_default(std::string_view name, const json::Value& value) {
  if (value.is_bool()) return value.get_bool() == (name == "shouldExist");
  if (value.is_string()) return value.get_string().empty();
  if (!value.is_object()) return false;
  return std::ranges::all_of(value.get_object(),
                             [](const auto& entry) { return is_default(entry.key(), entry.value()); });
}

void drop_newer_defaults(json::Value& config, const StructSchema& schema, SpecVersion to) {
  for (const Member& member : schema.members) {
    json::Value* value = json::find(config, {member.name});
    if (value == nullptr) continue;
    if (member.since_minor > to.minor && is_default(member.name, *value)) {
      config.get_object().erase(member.name);
    } else if (member.type == MemberType::kObject) {
      drop_newer_defaults(*value, *member.element, to);
    } else if (member.type == MemberType::kObjectList) {
      for (json::Value& item : value->get_array()) drop_newer_defaults(item, *member.element, to);
    }
  }
}

/// No spec forbids these bits, but the Machine Config Operator refuses them on the step from 3.4 to 3.3, and so do we.
void collect_special_modes(const json::Value& config, std::vector<std::string>& lost) {
  for (const std::string_view list : {"files", "directories"}) {
    const json::Value* items = json::find(config, {"storage", list});
    if (items == nullptr) continue;
    for (std::size_t i = 0; i < items->get_array().size(); ++i) {
      const std::int64_t mode = json::find_int(items->get_array()[i], {"mode"}).value_or(0);
      if ((mode & kSpecialBits) == 0) continue;
      lost.push_back(fmt::format("storage.{}[{}].mode: setuid, setgid and sticky bits in {:04o}", list, i, mode));
    }
  }
}

/// Ignition's own step from 3.4 to 3.5 forgets the advertisements of tang servers.
void forget_advertisements(json::Value& config) {
  json::Array* volumes = storage_list(config, "luks");
  if (volumes == nullptr) return;
  for (json::Value& volume : *volumes) {
    json::Value* servers = json::find(volume, {"clevis", "tang"});
    if (servers == nullptr) continue;
    for (json::Value& server : servers->get_array()) server.get_object().erase("advertisement");
  }
}

/// Between 3.x specs members were only added, never renamed or removed. So the target's own check decides: what it
/// objects to, or does not know, cannot be expressed there.
Result<json::Value> convert_spec3(json::Value config, SpecVersion from, SpecVersion to) {
  json::Value converted = raise_spec3(std::move(config), from, to);
  drop_newer_defaults(converted, config_schema(to), to);
  std::vector<std::string> lost = lost_in(converted);
  if (to < kSpecialModesKept && from >= kSpecialModesKept) collect_special_modes(converted, lost);
  STRAKE_CHECK_OK(refuse_lost(to, std::move(lost)));
  write_as_go(converted, config_schema(to));
  return converted;
}

}  // namespace

Status refuse_lost(SpecVersion to, std::vector<std::string> lost) {
  if (lost.empty()) return {};
  std::ranges::sort(lost);
  return error(Code::kUnsupported, "spec {} cannot express: {}", to_string(to), fmt::join(lost, "; "));
}

std::vector<std::string> lost_in(const json::Value& config) {
  std::vector<std::string> lost;
  for (const Finding& finding : check(config).report.findings) {
    if (finding.severity == Severity::kError) lost.push_back(finding.to_string());
    if (finding.at_key) lost.push_back(fmt::format("{}: no such member", finding.path()));
  }
  return lost;
}

json::Value raise_spec3(json::Value config, SpecVersion from, SpecVersion to) {
  json::ensure(config, {"ignition", "version"}) = to_string(to);
  if (from < kTextsMayBeUnset && to >= kTextsMayBeUnset) {
    if (json::Array* links = storage_list(config, "links"); links != nullptr) {
      for (json::Value& link : *links) link.get_object().emplace("target", "");
    }
    if (json::Array* volumes = storage_list(config, "luks"); volumes != nullptr) {
      for (json::Value& volume : *volumes) {
        json::Value* custom = json::find(volume, {"clevis", "custom"});
        if (custom == nullptr) continue;
        for (const std::string_view member : {"config", "pin"}) custom->get_object().emplace(member, "");
      }
    }
  }
  return config;
}

Result<json::Value> raise_as_operator(json::Value config, SpecVersion from) {
  if (from.major == 2) {
    STRAKE_TRY(const json::Value merged, merge_duplicates_as_operator(lift_to_2_2(std::move(config), from)));
    STRAKE_TRY(config, raise_to_3_0(merged, RaiseFrom2::kAsOperator));
    from = {3, 0};
  }
  json::Value raised = raise_spec3(std::move(config), from, kLatestVersion);
  if (from < kLatestVersion) forget_advertisements(raised);
  normalise(raised);
  write_as_go(raised, config_schema());
  return raised;
}

Result<json::Value> convert(const json::Value& config, SpecVersion to) {
  if (to < kSpec2Written || (to.major == 3 && to < kOldestSpec3Written)) {
    return error(Code::kUnsupported, "spec {} is read but not written; write 2.2 or one of 3.1 to 3.5", to_string(to));
  }
  Checked source = check(config);
  const auto& problems = source.report.findings;
  const auto first = std::ranges::find(problems, Severity::kError, &Finding::severity);
  if (first != problems.end()) return error(Code::kInvalidArgument, "{}", first->to_string());

  json::Value converted = std::move(source.config);
  normalise(converted);
  if (source.version.major == 2) {
    converted = lift_to_2_2(std::move(converted), source.version);
    if (to == kSpec2Written) return converted;
    STRAKE_TRY(converted, raise_to_3_0(converted, RaiseFrom2::kWithoutLoss));
    normalise(converted);
    source.version = {3, 0};
  }
  if (to.major == 3) return convert_spec3(std::move(converted), source.version, to);
  STRAKE_TRY_CONTEXT(const json::Value above, convert_spec3(std::move(converted), source.version, kAboveSpec2),
                     "spec {} is made from {}", to_string(to), to_string(kAboveSpec2));
  return lower_to_2_2(above);
}

}  // namespace strake::ignition
