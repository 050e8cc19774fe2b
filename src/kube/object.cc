#include "kube/object.h"

#include "base/text.h"

#include <charconv>

namespace strake::kube {

namespace {

std::optional<std::uint64_t> version_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::map<std::string, std::string> string_map_at(const json::Value& root,
                                                 std::initializer_list<std::string_view> path) {
  std::map<std::string, std::string> map;
  const json::Value* found = json::find(root, path);
  if (found == nullptr || !found->is_object()) return map;
  for (const auto& [key, value] : found->get_object()) {
    if (value.is_string()) map.emplace(key, json::as_view(value.get_string()));
  }
  return map;
}

}  // namespace

bool is_older_version(std::string_view version, std::string_view than) {
  const auto left = version_number(version);
  const auto right = version_number(than);
  return left && right && *left < *right;
}

Object::Object(const Resource& resource, const ObjectKey& key) : json_(json::Object{}) {
  json::Object metadata;
  metadata["name"] = key.name;
  if (!key.ns.empty()) metadata["namespace"] = key.ns;
  json::Object& root = json_.get_object();
  root["apiVersion"] = resource.api_version();
  root["kind"] = resource.kind;
  root["metadata"] = std::move(metadata);
}

std::optional<std::string> Object::annotation(std::string_view name) const {
  return json::find_string(json_, {"metadata", "annotations", name});
}

std::optional<std::string> Object::label(std::string_view name) const {
  return json::find_string(json_, {"metadata", "labels", name});
}

std::map<std::string, std::string> Object::labels() const { return string_map_at(json_, {"metadata", "labels"}); }

std::map<std::string, std::string> Object::annotations() const {
  return string_map_at(json_, {"metadata", "annotations"});
}

std::vector<std::string> Object::finalizers() const {
  std::vector<std::string> names;
  const json::Value* found = json::find(json_, {"metadata", "finalizers"});
  if (found == nullptr || !found->is_array()) return names;
  for (const json::Value& item : found->get_array()) {
    if (item.is_string()) names.emplace_back(json::as_view(item.get_string()));
  }
  return names;
}

std::vector<OwnerReference> Object::owners() const {
  std::vector<OwnerReference> owners;
  const json::Value* found = json::find(json_, {"metadata", "ownerReferences"});
  if (found == nullptr || !found->is_array()) return owners;
  for (const json::Value& item : found->get_array()) {
    owners.push_back({json::find_string(item, {"apiVersion"}).value_or(""),
                      json::find_string(item, {"kind"}).value_or(""), json::find_string(item, {"name"}).value_or(""),
                      json::find_string(item, {"uid"}).value_or(""),
                      json::find_bool(item, {"controller"}).value_or(false),
                      json::find_bool(item, {"blockOwnerDeletion"}).value_or(false)});
  }
  return owners;
}

void Object::set_annotation(std::string_view name, std::string_view value) {
  json::ensure(json_, {"metadata", "annotations", name}) = value;
}

void Object::set_label(std::string_view name, std::string_view value) {
  json::ensure(json_, {"metadata", "labels", name}) = value;
}

void Object::add_owner(const OwnerReference& owner) {
  json::Value& list = json::ensure(json_, {"metadata", "ownerReferences"});
  if (!list.is_array()) list = json::Array{};
  list.get_array().push_back(json::Object{{"apiVersion", owner.api_version},
                                          {"kind", owner.kind},
                                          {"name", owner.name},
                                          {"uid", owner.uid},
                                          {"controller", owner.controller},
                                          {"blockOwnerDeletion", owner.block_owner_deletion}});
}

bool is_object_name(std::string_view name) {
  constexpr std::size_t kMaxNameBytes = 253;
  const auto is_inner = [](char c) { return (c >= 'a' && c <= 'z') || is_digit(c); };
  if (name.empty() || name.size() > kMaxNameBytes) return false;
  char before = '.';
  for (const char c : name) {
    if (!is_inner(c) && ((c != '-' && c != '.') || before == '.' || (c == '.' && before == '-'))) return false;
    before = c;
  }
  return is_inner(before);
}

}  // namespace strake::kube
