#include "apistore/rules/metadata_rules.h"

#include <algorithm>
#include <functional>

#include "apistore/rules/name_rules.h"
#include "apistore/service/service_errors.h"
#include "base/text.h"

namespace strake::apistore {

namespace {

constexpr std::size_t kMaxAnnotationsBytes = 256u << 10;

/// ObjectMeta as a schema, so that one piece of code prunes and checks everything.
const Schema& metadata_schema() {
  static const Schema schema = [] {
    const json::Value text = json::Object{{"type", "string"}};
    const json::Value time = json::Object{{"type", "string"}, {"format", "date-time"}};
    const json::Value number = json::Object{{"type", "integer"}};
    const json::Value flag = json::Object{{"type", "boolean"}};
    const json::Value texts = json::Object{{"type", "object"}, {"additionalProperties", text}};
    const json::Value owner = json::Object{{"type", "object"},
                                           {"properties", json::Object{{"apiVersion", text},
                                                                       {"kind", text},
                                                                       {"name", text},
                                                                       {"uid", text},
                                                                       {"controller", flag},
                                                                       {"blockOwnerDeletion", flag}}}};
    const json::Value anything = json::Object{{"x-kubernetes-preserve-unknown-fields", true}};
    const json::Value metadata =
        json::Object{{"type", "object"},
                     {"properties", json::Object{{"name", text},
                                                 {"generateName", text},
                                                 {"namespace", text},
                                                 {"selfLink", text},
                                                 {"uid", text},
                                                 {"resourceVersion", text},
                                                 {"generation", number},
                                                 {"creationTimestamp", time},
                                                 {"deletionTimestamp", time},
                                                 {"deletionGracePeriodSeconds", number},
                                                 {"labels", texts},
                                                 {"annotations", texts},
                                                 {"ownerReferences", json::Object{{"type", "array"}, {"items", owner}}},
                                                 {"finalizers", json::Object{{"type", "array"}, {"items", text}}},
                                                 {"managedFields", anything}}}};
    // Wrapped, because a schema's root never prunes `metadata` itself.
    auto compiled = Schema::compile(json::Object{{"type", "object"}, {"properties", json::Object{{"m", metadata}}}});
    STRAKE_INVARIANT(compiled.ok());
    return *std::move(compiled);
  }();
  return schema;
}

void check_owners(const json::Value& object, std::vector<FieldProblem>& problems) {
  const json::Value* owners = json::find(object, {"metadata", "ownerReferences"});
  if (owners == nullptr) return;
  bool has_controller = false;
  for (const json::Value& owner : owners->get_array()) {
    const auto need = [&](std::string_view name, std::string_view what) {
      if (json::find_string(owner, {name}).value_or("").empty())
        problems.push_back(FieldProblem::invalid(fmt::format("metadata.ownerReferences.{}", name), "", what));
    };
    need("apiVersion", "version must not be empty");
    need("kind", "must not be empty");
    need("name", "must not be empty");
    need("uid", "must not be empty");
    if (!json::find_bool(owner, {"controller"}).value_or(false)) continue;
    if (has_controller) {
      problems.push_back(FieldProblem::invalid("metadata.ownerReferences", owner,
                                               "Only one reference can have Controller set to true"));
    }
    has_controller = true;
  }
}

/// Calls `use` for each string of a map of metadata; its shape was checked before.
void for_each_text(const json::Value& object, std::string_view map_name,
                   const std::function<void(std::string_view key, std::string_view value)>& use) {
  const json::Value* map = json::find(object, {"metadata", map_name});
  if (map == nullptr) return;
  for (const auto& [key, value] : map->get_object()) use({key.data(), key.size()}, json::as_view(value.get_string()));
}

/// An empty map or list of metadata is the same as none, and is stored as none.
void drop_empty_collections(json::Object& metadata) {
  for (const std::string_view name : {"labels", "annotations", "ownerReferences", "finalizers"}) {
    const json::Value* value = metadata.if_contains(name);
    if (value == nullptr) continue;
    const bool empty =
        value->is_object() ? value->get_object().empty() : value->is_array() && value->get_array().empty();
    if (empty) metadata.erase(name);
  }
}

}  // namespace

Result<std::vector<std::string>> shape_metadata(json::Value& object) {
  json::Object& root = object.get_object();
  json::Value wrapped = json::Object{};
  json::Value& metadata = root["metadata"];
  if (metadata.is_null()) metadata = json::Object{};
  wrapped.get_object()["m"] = std::move(metadata);
  std::vector<std::string> removed = metadata_schema().prune(wrapped);
  metadata_schema().apply_defaults(wrapped);
  const auto as_metadata = [](const std::string& path) { return "metadata" + path.substr(1); };
  for (const FieldProblem& problem : metadata_schema().validate(wrapped, nullptr)) {
    std::string text = problem.text;
    if (const std::size_t at = text.find(": " + problem.field + " in body"); at != std::string::npos) {
      text.replace(at + 2, problem.field.size(), as_metadata(problem.field));
    }
    return bad_request("{}: {}", as_metadata(problem.field), text);
  }
  root["metadata"] = std::move(wrapped.get_object()["m"]);
  drop_empty_collections(root["metadata"].get_object());
  for (std::string& path : removed) path = as_metadata(path);
  return removed;
}

void check_metadata(const Kind& kind, const json::Value& object, std::vector<FieldProblem>& problems) {
  const auto text_value = [](std::string_view text) {
    return json::Value(boost::json::string_view(text.data(), text.size()));
  };
  const std::string name = json::find_string(object, {"metadata", "name"}).value_or("");
  const bool is_label = kind.group.empty() && kind.kind == "Namespace";
  if (const auto wrong = is_label ? dns1123_label_problem(name) : dns1123_subdomain_problem(name)) {
    problems.push_back(FieldProblem::invalid("metadata.name", text_value(name), *wrong));
  }
  if (kind.namespaced) {
    const std::string ns = json::find_string(object, {"metadata", "namespace"}).value_or("");
    if (const auto wrong = dns1123_label_problem(ns)) {
      problems.push_back(FieldProblem::invalid("metadata.namespace", text_value(ns), *wrong));
    }
  }
  const auto refuse = [&](const std::string& field, std::string_view value, const std::vector<std::string>& why) {
    for (const std::string& problem : why) problems.push_back(FieldProblem::invalid(field, text_value(value), problem));
  };
  for_each_text(object, "labels", [&](std::string_view key, std::string_view value) {
    refuse("metadata.labels", key, qualified_name_problems(key));
    refuse("metadata.labels", value, label_value_problems(value));
  });
  std::size_t annotation_bytes = 0;
  for_each_text(object, "annotations", [&](std::string_view key, std::string_view value) {
    annotation_bytes += key.size() + value.size();
    // Annotation keys may be written in either case.
    refuse("metadata.annotations", key, qualified_name_problems(lower_case(key)));
  });
  if (annotation_bytes > kMaxAnnotationsBytes) {
    problems.push_back(FieldProblem::too_long("metadata.annotations", static_cast<std::int64_t>(kMaxAnnotationsBytes)));
  }
  check_owners(object, problems);
  const json::Value* finalizers = json::find(object, {"metadata", "finalizers"});
  if (finalizers == nullptr) return;
  for (const json::Value& finalizer : finalizers->get_array()) {
    const std::string_view text = json::as_view(finalizer.get_string());
    refuse("metadata.finalizers", text, qualified_name_problems(text));
  }
}

}  // namespace strake::apistore
