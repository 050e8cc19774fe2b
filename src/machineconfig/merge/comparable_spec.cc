#include "machineconfig/merge/comparable_spec.h"

#include <algorithm>

#include "ignition/config.h"

namespace strake::machineconfig {

namespace {

/// To the operator an object without members is one that is not there; an empty list is not.
void drop_empty_objects(json::Value& value) {
  if (json::Array* array = value.if_array()) {
    for (json::Value& element : *array) drop_empty_objects(element);
    return;
  }
  json::Object* object = value.if_object();
  if (object == nullptr) return;
  json::Object kept;
  kept.reserve(object->size());
  for (auto& [name, member] : *object) {
    drop_empty_objects(member);
    if (!member.is_object() || !member.get_object().empty()) kept.emplace(name, std::move(member));
  }
  *object = std::move(kept);
}

std::vector<std::string> texts_of_list(const json::Value& spec, std::string_view field) {
  std::vector<std::string> texts;
  for (const json::Value& item : items_at(spec, {field})) {
    if (item.is_string()) texts.emplace_back(json::as_view(item.get_string()));
  }
  return texts;
}

Result<json::Value> comparable_config(const json::Value& spec) {
  const json::Value* raw = json::find(spec, {"config"});
  if (raw == nullptr || raw->is_null()) return ignition::empty_config();
  ignition::Checked checked = ignition::check(*raw);
  const auto first =
      std::ranges::find(checked.report.findings, ignition::Severity::kError, &ignition::Finding::severity);
  if (first != checked.report.findings.end()) {
    return error(Code::kInvalidArgument, "spec.config: {}", first->to_string());
  }
  json::Value config = std::move(checked.config);
  if (checked.version != ignition::kLatestVersion) {
    // Raised first, as the operator does. That loses empty lists; rendered configs are always of the latest version.
    STRAKE_TRY_CONTEXT(config, ignition::parse(*raw), "spec.config");
  }
  drop_empty_objects(config);
  return config;
}

}  // namespace

namespace {

ComparableSpec without_config(const json::Value& spec) {
  ComparableSpec comparable;
  comparable.os_image = json::find_string(spec, {"osImageURL"}).value_or("");
  comparable.extensions_image = json::find_string(spec, {"baseOSExtensionsContainerImage"}).value_or("");
  comparable.kernel_type = json::find_string(spec, {"kernelType"}).value_or("");
  if (comparable.kernel_type.empty()) comparable.kernel_type = "default";
  comparable.fips = json::find_bool(spec, {"fips"}).value_or(false);
  comparable.kernel_arguments = texts_of_list(spec, "kernelArguments");
  comparable.extensions = texts_of_list(spec, "extensions");
  return comparable;
}

}  // namespace

Result<ComparableSpec> comparable_spec(const json::Value& spec) {
  ComparableSpec comparable = without_config(spec);
  STRAKE_TRY(comparable.config, comparable_config(spec));
  return comparable;
}

ComparableSpec comparable_rendered(json::Value spec) {
  ComparableSpec comparable = without_config(spec);
  json::Value* config = json::find(spec, {"config"});
  comparable.config = config == nullptr ? ignition::empty_config() : std::move(*config);
  drop_empty_objects(comparable.config);
  return comparable;
}

bool same_member(const ComparableSpec& before, const ComparableSpec& after,
                 std::initializer_list<std::string_view> path) {
  const json::Value* old_member = json::find(before.config, path);
  const json::Value* new_member = json::find(after.config, path);
  if (old_member == nullptr || new_member == nullptr) return old_member == new_member;
  return *old_member == *new_member;
}

const json::Array& items_at(const json::Value& config, std::initializer_list<std::string_view> path) {
  static const json::Array kNone;
  const json::Value* list = json::find(config, path);
  return list == nullptr || !list->is_array() ? kNone : list->get_array();
}

}  // namespace strake::machineconfig
