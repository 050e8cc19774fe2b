#include "apistore/rules/builtin_rules.h"

#include <algorithm>
#include <array>

#include "codec/base64.h"
#include "codec/json_patch.h"

namespace strake::apistore {

namespace {

/// stringData is for writing only: it ends up in data, encoded.
void fold_string_data(json::Value& secret) {
  json::Object& root = secret.get_object();
  if (root["type"].is_null()) root["type"] = "Opaque";
  const json::Value* plain = root.if_contains("stringData");
  if (plain == nullptr) return;
  if (plain->is_object()) {
    json::Value& data = json::ensure(secret, {"data"});
    if (!data.is_object()) data = json::Object{};
    for (const auto& [key, value] : plain->get_object()) {
      if (value.is_string()) data.get_object()[key] = codec::encode_base64(json::as_view(value.get_string()));
    }
  }
  root.erase("stringData");
}

/// A node that does not say what it keeps for itself keeps nothing.
void default_allocatable(json::Value& node) {
  const json::Value* capacity = json::find(node, {"status", "capacity"});
  if (capacity == nullptr || json::find(node, {"status", "allocatable"}) != nullptr) return;
  json::Value copy = *capacity;
  node.get_object()["status"].get_object()["allocatable"] = std::move(copy);
}

}  // namespace

bool is_core_kind(const Kind& kind, std::string_view name) {
  return kind.builtin && kind.group.empty() && kind.kind == name;
}

bool has_generation(const Kind& kind) {
  if (!kind.builtin) return true;
  constexpr std::array<std::string_view, 3> kGroups = {"apps", "batch", "policy"};
  return is_core_kind(kind, "Pod") || std::find(kGroups.begin(), kGroups.end(), kind.group) != kGroups.end();
}

bool allows_unconditional_update(const Kind& kind) {
  return kind.builtin && kind.group != "coordination.k8s.io" && kind.group != "policy";
}

void fill_builtin_on_create(const Kind& kind, json::Value& object) {
  json::Object& root = object.get_object();
  if (is_core_kind(kind, "Pod")) {
    root["status"] = json::Object{{"phase", "Pending"}};
  } else if (is_core_kind(kind, "Namespace")) {
    root["status"] = json::Object{{"phase", "Active"}};
    json::ensure(object, {"spec", "finalizers"}) = json::Array{"kubernetes"};
    json::ensure(object, {"metadata", "labels", "kubernetes.io/metadata.name"}) = root["metadata"].get_object()["name"];
  } else if (is_core_kind(kind, "Secret")) {
    fold_string_data(object);
  } else if (is_core_kind(kind, "Node")) {
    default_allocatable(object);
  } else if (kind.builtin && kind.group == "policy") {
    root.erase("status");
  }
}

void fill_builtin_on_update(const Kind& kind, json::Value& object) {
  if (is_core_kind(kind, "Secret")) fold_string_data(object);
  if (is_core_kind(kind, "Node")) default_allocatable(object);
}

}  // namespace strake::apistore
