#include "apistore/schema/registry.h"

#include <algorithm>

#include "api/crd_files.h"
#include "base/text.h"
#include "codec/yaml.h"

namespace strake::apistore {

namespace {

std::vector<std::string> names_list(const json::Value& root, std::initializer_list<std::string_view> path) {
  std::vector<std::string> names;
  const json::Value* list = json::find(root, path);
  if (list == nullptr || !list->is_array()) return names;
  for (const json::Value& item : list->get_array()) {
    if (item.is_string()) names.emplace_back(json::as_view(item.get_string()));
  }
  return names;
}

Result<std::string> needed_text(const json::Value& crd, std::initializer_list<std::string_view> path) {
  auto text = json::find_string(crd, path);
  if (text) return *std::move(text);
  std::string where;
  for (const std::string_view step : path) where += fmt::format("{}{}", where.empty() ? "" : ".", step);
  return error(Code::kInvalidArgument, "{} is missing or no string", where);
}

Result<KindVersion> version_of(const json::Value& json) {
  KindVersion version;
  STRAKE_TRY(version.name, needed_text(json, {"name"}));
  version.served = json::find_bool(json, {"served"}).value_or(false);
  version.storage = json::find_bool(json, {"storage"}).value_or(false);
  version.deprecated = json::find_bool(json, {"deprecated"}).value_or(false);
  version.deprecation_warning = json::find_string(json, {"deprecationWarning"}).value_or("");
  version.has_status = json::find(json, {"subresources", "status"}) != nullptr;
  if (const json::Value* columns = json::find(json, {"additionalPrinterColumns"});
      columns != nullptr && columns->is_array()) {
    for (const json::Value& column : columns->get_array()) {
      const auto text = [&](std::string_view name) { return json::find_string(column, {name}).value_or(""); };
      version.columns.push_back({text("name"), text("type"), text("format"), text("description"), text("jsonPath"),
                                 json::find_int(column, {"priority"}).value_or(0)});
    }
  }
  if (const json::Value* fields = json::find(json, {"selectableFields"}); fields != nullptr && fields->is_array()) {
    for (const json::Value& field : fields->get_array()) {
      std::string path = json::find_string(field, {"jsonPath"}).value_or("");
      if (path.starts_with('.')) version.selectable_fields.push_back(path.substr(1));
    }
  }
  if (const json::Value* schema = json::find(json, {"schema", "openAPIV3Schema"}); schema != nullptr) {
    version.open_api = *schema;
    STRAKE_TRY_CONTEXT(version.schema, Schema::compile(*schema), "version {}", version.name);
  }
  return version;
}

Result<Kind> kind_of(const json::Value& crd, bool builtin) {
  Kind kind;
  kind.builtin = builtin;
  kind.definition = crd;
  STRAKE_TRY(kind.group, needed_text(crd, {"spec", "group"}));
  STRAKE_TRY(kind.kind, needed_text(crd, {"spec", "names", "kind"}));
  if (builtin) kind.fields = KubernetesTypes::standard().find(kind.kind);
  if (kind.fields != nullptr) kind.merge_schema = merge_schema_of(*kind.fields);
  STRAKE_TRY(kind.plural, needed_text(crd, {"spec", "names", "plural"}));
  STRAKE_TRY(const std::string scope, needed_text(crd, {"spec", "scope"}));
  if (scope != "Namespaced" && scope != "Cluster") {
    return error(Code::kInvalidArgument, "spec.scope is '{}', not Namespaced or Cluster", scope);
  }
  kind.namespaced = scope == "Namespaced";
  kind.list_kind = json::find_string(crd, {"spec", "names", "listKind"}).value_or(kind.kind + "List");
  kind.singular = json::find_string(crd, {"spec", "names", "singular"}).value_or("");
  if (kind.singular.empty()) kind.singular = lower_case(kind.kind);
  kind.short_names = names_list(crd, {"spec", "names", "shortNames"});
  kind.categories = names_list(crd, {"spec", "names", "categories"});
  kind.table = json::find_string(crd, {"metadata", "annotations", "strake.dev/table"}).value_or("");
  const json::Value* versions = json::find(crd, {"spec", "versions"});
  if (versions == nullptr || !versions->is_array())
    return error(Code::kInvalidArgument, "spec.versions is missing or no list");
  for (const json::Value& json : versions->get_array()) {
    STRAKE_TRY(KindVersion version, version_of(json));
    kind.versions.push_back(std::move(version));
  }
  const auto stored =
      std::count_if(kind.versions.begin(), kind.versions.end(), [](const KindVersion& v) { return v.storage; });
  if (stored != 1) return error(Code::kInvalidArgument, "{} versions have storage: true; exactly one must", stored);
  return kind;
}

}  // namespace

const KindVersion* Kind::version(std::string_view name) const {
  const auto found =
      std::find_if(versions.begin(), versions.end(), [&](const KindVersion& v) { return v.name == name; });
  return found == versions.end() ? nullptr : &*found;
}

const KindVersion& Kind::storage() const {
  const auto found = std::find_if(versions.begin(), versions.end(), [](const KindVersion& v) { return v.storage; });
  STRAKE_INVARIANT(found != versions.end());
  return *found;
}

Result<Registry> Registry::standard() { return load(builtin_files(), api::crd_files()); }

Result<Registry> Registry::load(std::span<const api::EmbeddedFile> builtin, std::span<const api::EmbeddedFile> custom) {
  Registry registry;
  const auto add = [&](std::span<const api::EmbeddedFile> files, bool is_builtin) -> Status {
    for (const api::EmbeddedFile& file : files) {
      STRAKE_TRY_CONTEXT(const auto documents, yaml::parse_stream(file.contents), "{}", file.name);
      for (const yaml::Document& document : documents) {
        STRAKE_TRY_CONTEXT(Kind kind, kind_of(document.value, is_builtin), "{} line {}", file.name, document.line);
        if (registry.find(kind.group, kind.plural) != nullptr) {
          return error(Code::kInvalidArgument, "{}: {} is defined twice", file.name, kind.qualified_name());
        }
        registry.kinds_.push_back(std::move(kind));
      }
    }
    return {};
  };
  STRAKE_CHECK_OK(add(builtin, true));
  STRAKE_CHECK_OK(add(custom, false));
  std::sort(registry.kinds_.begin(), registry.kinds_.end(),
            [](const Kind& a, const Kind& b) { return std::tie(a.group, a.plural) < std::tie(b.group, b.plural); });
  return registry;
}

const Kind* Registry::find(std::string_view group, std::string_view plural) const {
  const auto found = std::find_if(kinds_.begin(), kinds_.end(),
                                  [&](const Kind& kind) { return kind.group == group && kind.plural == plural; });
  return found == kinds_.end() ? nullptr : &*found;
}

const Kind* Registry::find_kind(std::string_view group, std::string_view kind_name) const {
  const auto found = std::find_if(kinds_.begin(), kinds_.end(),
                                  [&](const Kind& kind) { return kind.group == group && kind.kind == kind_name; });
  return found == kinds_.end() ? nullptr : &*found;
}

const Kind* Registry::find_qualified(std::string_view qualified_name) const {
  const std::size_t dot = qualified_name.find('.');
  if (dot == std::string_view::npos) return find("", qualified_name);
  return find(qualified_name.substr(dot + 1), qualified_name.substr(0, dot));
}

}  // namespace strake::apistore
