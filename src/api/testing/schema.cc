#include "api/testing/schema.h"

#include "api/crd_files.h"
#include "codec/yaml.h"

namespace strake::api::testing {

namespace {

const json::Value* member(const json::Value& value, std::string_view name) { return json::find(value, {name}); }

bool is_free_form(const json::Value& schema) {
  return json::find_bool(schema, {"x-kubernetes-preserve-unknown-fields"}).value_or(false) &&
         member(schema, "properties") == nullptr;
}

/// The schema of one member: a declared property, or the common schema of a map's values.
const json::Value* member_schema(const json::Value& schema, std::string_view name) {
  if (const json::Value* property = json::find(schema, {"properties", name})) return property;
  const json::Value* values = member(schema, "additionalProperties");
  return values != nullptr && values->is_object() ? values : nullptr;
}

void collect_undeclared(const json::Value& schema, const json::Value& value, const std::string& path,
                        std::vector<std::string>& undeclared) {
  if (is_free_form(schema)) return;
  if (const json::Array* items = value.if_array()) {
    const json::Value* item_schema = member(schema, "items");
    for (const json::Value& item : *items) {
      if (item_schema == nullptr) {
        undeclared.push_back(path + "[]");
      } else {
        collect_undeclared(*item_schema, item, path + "[]", undeclared);
      }
    }
  }
  const json::Object* members = value.if_object();
  if (members == nullptr) return;
  for (const auto& [key, inner] : *members) {
    const std::string name(key);
    if (path.empty() && name == "metadata") continue;
    const std::string inner_path = path.empty() ? name : path + "." + name;
    if (const json::Value* inner_schema = member_schema(schema, name)) {
      collect_undeclared(*inner_schema, inner, inner_path, undeclared);
    } else {
      undeclared.push_back(inner_path);
    }
  }
}

}  // namespace

std::string Crd::qualified_kind() const {
  const std::string group = text({"spec", "group"});
  return group.empty() ? plural() : plural() + "." + group;
}

const json::Value& Crd::version() const { return json::find(document, {"spec", "versions"})->as_array().at(0); }

const json::Value& Crd::schema() const { return *json::find(version(), {"schema", "openAPIV3Schema"}); }

Result<Crd> parse_crd(const EmbeddedFile& file) {
  STRAKE_TRY_CONTEXT(json::Value document, yaml::parse(file.contents), "reading {}", file.name);
  const json::Value* versions = json::find(document, {"spec", "versions"});
  if (versions == nullptr || !versions->is_array() || versions->get_array().size() != 1 ||
      json::find(versions->get_array()[0], {"schema", "openAPIV3Schema"}) == nullptr) {
    return error(Code::kCorrupt, "{} does not have exactly one version with a schema", file.name);
  }
  return Crd{std::string(file.name), std::move(document)};
}

Result<std::vector<Crd>> load_crds() {
  std::vector<Crd> crds;
  for (const EmbeddedFile& file : crd_files()) {
    STRAKE_TRY(Crd crd, parse_crd(file));
    crds.push_back(std::move(crd));
  }
  return crds;
}

Result<Crd> load_crd(std::string_view qualified_kind) {
  STRAKE_TRY(std::vector<Crd> crds, load_crds());
  for (Crd& crd : crds) {
    if (crd.qualified_kind() == qualified_kind) return std::move(crd);
  }
  return error(Code::kNotFound, "deploy/crds does not define {}", qualified_kind);
}

const json::Value* schema_at(const json::Value& schema, std::string_view path) {
  const json::Value* at = &schema;
  while (!path.empty() && at != nullptr) {
    const std::size_t dot = path.find('.');
    std::string_view step = path.substr(0, dot);
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
    const bool into_items = step.ends_with("[]");
    if (into_items) step.remove_suffix(2);
    at = member_schema(*at, step);
    if (at != nullptr && into_items) at = member(*at, "items");
  }
  return at;
}

std::vector<std::string> undeclared_members(const json::Value& schema, const json::Value& object) {
  std::vector<std::string> undeclared;
  collect_undeclared(schema, object, "", undeclared);
  return undeclared;
}

}  // namespace strake::api::testing
