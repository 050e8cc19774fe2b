// What the variant `openshift` adds: what a MachineConfig has around its Ignition config, and what nodes could not
// follow.
#include <algorithm>

#include "ignition/butane/translator.h"
#include "ignition/config.h"
#include "ignition/source_url.h"

namespace strake::ignition {

std::optional<Place> ButaneTranslator::section(const std::string& name, std::set<std::string, std::less<>> known) {
  const yaml::Node* node = root_.find(name);
  if (node == nullptr) return std::nullopt;
  Place place = Place{root_, {}}.member(name, *node);
  if (node->kind != NodeKind::kMapping) {
    if (node->kind != NodeKind::kNull) fail(place, fmt::format("expected a mapping, found {}", kind_name(*node)));
    if (node->kind == NodeKind::kNull) warn(place, "empty");
    return std::nullopt;
  }
  if (node->is_alias && !place.is_quiet) {
    warn(place, "not written here, so that misspelt members in it are not noticed");
  }
  warn_of_unknown(place, known);
  return place;
}

void ButaneTranslator::take_metadata(json::Object& metadata) {
  const auto place = section("metadata", {"name", "labels"});
  const yaml::Node* name = place ? text_member(*place, "name") : nullptr;
  metadata["name"] = name == nullptr ? std::string() : name->text;
  if (name == nullptr || name->text.empty()) add(Severity::kError, {"metadata", "name"}, "required");
  const yaml::Node* labels = place ? place->node.find("labels") : nullptr;
  json::Object taken;
  if (labels != nullptr && labels->kind == NodeKind::kMapping) {
    const Place inner = place->member("labels", *labels);
    for (std::size_t i = 0; i < labels->keys.size(); ++i) {
      const yaml::Node& value = labels->children[i];
      if (value.kind == NodeKind::kNull) {
        taken[labels->keys[i]] = "";
      } else if (const auto text = text_of(inner.member(labels->keys[i], value)); text) {
        taken[labels->keys[i]] = *text;
      }
    }
  } else if (labels != nullptr && labels->kind != NodeKind::kNull) {
    add(Severity::kError, {"metadata", "labels"}, fmt::format("expected a mapping, found {}", kind_name(*labels)));
  }
  const json::Value* role = taken.if_contains(role_label_);
  if (role == nullptr || role->get_string().empty()) {
    add(Severity::kError, {"metadata", "labels"}, fmt::format("the label {} is required", role_label_));
  }
  if (!taken.empty()) metadata["labels"] = std::move(taken);
}

void ButaneTranslator::take_openshift(json::Object& spec) {
  const auto place = section("openshift", {"kernel_arguments", "extensions", "fips", "kernel_type"});
  if (!place) return;
  constexpr Member kMembers[] = {{"kernelArguments", MemberType::kStringList},
                                 {"extensions", MemberType::kStringList},
                                 {"fips", MemberType::kBool},
                                 {"kernelType", MemberType::kString}};
  for (const Member& member : kMembers) {
    const std::string name = snake_case(member.name);
    const yaml::Node* value = place->node.find(name);
    if (value != nullptr) take(spec, member, place->member(name, *value));
  }
  for (const std::string_view list : {"kernelArguments", "extensions"}) {
    if (const json::Value* items = spec.if_contains(list); items != nullptr && items->get_array().empty()) {
      spec.erase(list);
    }
  }
  const auto type = json::find_string(spec, {"kernelType"});
  if (type && !type->empty() && *type != "default" && *type != "realtime") {
    add(Severity::kError, {"openshift", "kernel_type"}, "must be empty, default or realtime");
  }
}

void ButaneTranslator::check_openshift(const json::Value& config) {
  const auto is_filled = [&](std::initializer_list<std::string_view> path) {
    const json::Value* list = json::find(config, path);
    return list != nullptr && list->is_array() && !list->get_array().empty();
  };
  const std::string whom = fmt::format("is not supported by openshift {}", dialect_.version);
  if (is_filled({"kernelArguments", "shouldExist"}) || is_filled({"kernelArguments", "shouldNotExist"})) {
    add(Severity::kError, {"kernel_arguments"}, whom + "; use openshift.kernel_arguments", true);
  }
  if (is_filled({"passwd", "groups"})) add(Severity::kError, {"passwd", "groups"}, whom, true);
  if (is_filled({"storage", "directories"})) add(Severity::kError, {"storage", "directories"}, whom, true);
  if (is_filled({"storage", "links"})) {
    const yaml::Node* storage = root_.find("storage");
    const bool is_written = storage != nullptr && storage->find("links") != nullptr;
    add(Severity::kError, {"storage", is_written ? "links" : "trees"}, "a link " + whom, true);
  }
  for_each_of(config, "passwd", "users",
              [&](const json::Steps& steps, const json::Value& user) { check_core(steps, user, whom); });
  for_each_of(config, "storage", "files",
              [&](const json::Steps& steps, const json::Value& file) { check_node_file(steps, file, whom); });
}

void ButaneTranslator::for_each_of(const json::Value& config, std::string_view section, std::string_view list,
                                   const std::function<void(const json::Steps&, const json::Value&)>& visit) {
  const json::Value* items = json::find(config, {section, list});
  if (items == nullptr || !items->is_array()) return;
  for (std::size_t i = 0; i < items->get_array().size(); ++i) {
    visit({std::string(section), std::string(list), fmt::format("[{}]", i)}, items->get_array()[i]);
  }
}

void ButaneTranslator::add_below(json::Steps steps, std::initializer_list<std::string_view> names,
                                 std::string message) {
  for (const std::string_view name : names) steps.emplace_back(name);
  add(Severity::kError, std::move(steps), std::move(message));
}

void ButaneTranslator::check_core(const json::Steps& steps, const json::Value& user, const std::string& whom) {
  for (const auto& [key, value] : user.get_object()) {
    const std::string_view name = key;
    if (name == "name" || name == "sshAuthorizedKeys") continue;
    if (name == "passwordHash" && dialect_.takes_password_hash) continue;
    if (value.is_array() && value.get_array().empty()) continue;
    add_below(steps, {snake_case(name)}, whom);
  }
  if (json::find_string(user, {"name"}) != "core") add_below(steps, {"name"}, "a user other than core " + whom);
}

void ButaneTranslator::check_node_file(const json::Steps& steps, const json::Value& file, const std::string& whom) {
  const auto is_filled = [&](std::initializer_list<std::string_view> path) {
    const json::Value* list = json::find(file, path);
    return list != nullptr && list->is_array() && !list->get_array().empty();
  };
  if (is_filled({"append"})) add_below(steps, {"append"}, whom);
  if (is_filled({"contents", "httpHeaders"})) add_below(steps, {"contents", "http_headers"}, whom);
  const bool packs = dialect_.packs_contents;
  if (!packs && !json::find_string(file, {"contents", "compression"}).value_or("").empty()) {
    add_below(steps, {"contents", "compression"}, whom);
  }
  if (const auto source = json::find_string(file, {"contents", "source"}); source) {
    const auto url = parse_url(*source);
    if (url && url->scheme != "data") add_below(steps, {"contents", "source"}, "must be a data URL: another " + whom);
  }
  const std::int64_t special = json::find_int(file, {"mode"}).value_or(0) & ~std::int64_t{0777};
  if (!dialect_.takes_special_modes && special != 0) add_below(steps, {"mode"}, "a special bit " + whom);
}

}  // namespace strake::ignition
