#include "apistore/rest/openapi.h"

#include <algorithm>

#include "apistore/rest/discovery.h"
#include "apistore/rest/openapi_meta.h"
#include "codec/digest.h"
#include "codec/json.h"
#include "kube/resource.h"

namespace strake::apistore::rest {

namespace {

/// "io.openshift.machineconfiguration.v1.MachineConfig": the group reversed, as generated clients name types.
std::string schema_name(const Kind& kind, const KindVersion& version, std::string_view type) {
  if (kind.builtin) {
    // Kubernetes names its own types after their Go packages, with the first label of the group only.
    const std::string package = kind.group.empty() ? "core" : kind.group.substr(0, kind.group.find('.'));
    return fmt::format("io.k8s.api.{}.{}.{}", package, version.name, type);
  }
  std::string reversed;
  std::string_view rest = kind.group;
  while (!rest.empty()) {
    const std::size_t dot = rest.rfind('.');
    reversed += dot == std::string_view::npos ? rest : rest.substr(dot + 1);
    reversed += '.';
    rest = dot == std::string_view::npos ? std::string_view() : rest.substr(0, dot);
  }
  return fmt::format("{}{}.{}", reversed, version.name, type);
}

json::Object gvk_json(std::string_view group, std::string_view version, std::string_view kind) {
  return {{"group", group}, {"version", version}, {"kind", kind}};
}

json::Object object_schema(const Kind& kind, const KindVersion& version) {
  json::Object schema;
  if (version.open_api.is_object()) schema = version.open_api.get_object();
  json::Value& properties = schema["properties"];
  if (!properties.is_object()) properties = json::Object{};
  json::Object& fields = properties.get_object();
  fields["apiVersion"] = json::Object{{"type", "string"}, {"description", kApiVersionText}};
  fields["kind"] = json::Object{{"type", "string"}, {"description", kKindText}};
  fields["metadata"] = json::Object{
      {"description", kMetadataText}, {"default", json::Object{}}, {"allOf", json::Array{schema_ref(kObjectMeta)}}};
  schema["x-kubernetes-group-version-kind"] = json::Array{gvk_json(kind.group, version.name, kind.kind)};
  return schema;
}

json::Object list_schema(const Kind& kind, const KindVersion& version) {
  return {
      {"description", fmt::format("A list of {} objects.", kind.kind)},
      {"type", "object"},
      {"required", json::Array{"items"}},
      {"properties",
       json::Object{
           {"apiVersion", json::Object{{"type", "string"}, {"description", kApiVersionText}}},
           {"kind", json::Object{{"type", "string"}, {"description", kKindText}}},
           {"metadata",
            json::Object{{"allOf", json::Array{schema_ref(kListMeta)}}, {"description", kListMetadataText}}},
           {"items", json::Object{{"type", "array"}, {"items", schema_ref(schema_name(kind, version, kind.kind))}}}}},
      {"x-kubernetes-group-version-kind", json::Array{gvk_json(kind.group, version.name, kind.list_kind)}}};
}

/// One kind in one version: its paths and schemas.
class KindPaths {
 public:
  KindPaths(const Kind& kind, const KindVersion& version) : kind_(kind), version_(version) {}

  void add_to(json::Object& paths) const {
    const std::string base = kind_.group.empty() ? fmt::format("/api/{}", version_.name)
                                                 : fmt::format("/apis/{}/{}", kind_.group, version_.name);
    const std::string collection = kind_.namespaced ? fmt::format("{}/namespaces/{{namespace}}/{}", base, kind_.plural)
                                                    : fmt::format("{}/{}", base, kind_.plural);
    paths[collection] = collection_path(kind_.namespaced);
    paths[collection + "/{name}"] = object_path("", true);
    if (version_.has_status) paths[collection + "/{name}/status"] = object_path("status", false);
    if (kind_.namespaced) {
      paths[fmt::format("{}/{}", base, kind_.plural)] =
          json::Object{{"get", operation("list", "AllNamespaces", list_parameters(), "", kind_.list_kind)},
                       {"parameters", json::Array{}}};
    }
    if (kind_.builtin && kind_.group.empty() && kind_.plural == kube::core::kPod.plural) {
      json::Object create = operation("post", "Eviction", write_parameters(false), "", "");
      create["x-kubernetes-group-version-kind"] = gvk_json("policy", "v1", "Eviction");
      paths[collection + "/{name}/eviction"] =
          json::Object{{"post", std::move(create)}, {"parameters", path_parameters(true)}};
    }
  }

 private:
  json::Array path_parameters(bool with_name) const {
    json::Array parameters;
    if (with_name) parameters.push_back(path_parameter("name", fmt::format("The name of the {}.", kind_.kind)));
    if (kind_.namespaced) parameters.push_back(path_parameter("namespace", "The namespace of the object."));
    return parameters;
  }

  json::Object collection_path(bool namespaced) const {
    const auto verbs = verbs_of(kind_);
    json::Object path{{"get", operation("list", "", list_parameters(), "", kind_.list_kind)},
                      {"post", operation("post", "", write_parameters(false), kind_.kind, kind_.kind)}};
    if (std::find(verbs.begin(), verbs.end(), "deletecollection") != verbs.end()) {
      json::Array parameters = list_parameters();
      for (json::Value& parameter : delete_parameters()) parameters.push_back(std::move(parameter));
      path["delete"] = operation("deletecollection", "Collection", std::move(parameters), "", "");
    }
    path["parameters"] = namespaced ? path_parameters(false) : json::Array{};
    return path;
  }

  json::Object object_path(std::string_view subresource, bool deletable) const {
    const std::string suffix = subresource.empty() ? "" : "Status";
    json::Object path{{"get", operation("get", suffix, {}, "", kind_.kind)},
                      {"put", operation("put", suffix, write_parameters(false), kind_.kind, kind_.kind)},
                      {"patch", operation("patch", suffix, write_parameters(true), "", kind_.kind)}};
    if (deletable) path["delete"] = operation("delete", suffix, delete_parameters(), "", "");
    path["parameters"] = path_parameters(true);
    return path;
  }

  /// `takes` and `gives` are kinds of this group and version; an empty `gives` is a Status.
  json::Object operation(std::string_view action, std::string_view suffix, json::Array parameters,
                         std::string_view takes, std::string_view gives) const {
    json::Object answer_schema = schema_ref(gives.empty() ? std::string(kStatus) : schema_name(kind_, version_, gives));
    json::Object operation{
        {"operationId",
         fmt::format("{}_{}_{}_{}{}", action, kind_.qualified_name(), version_.name, kind_.kind, suffix)},
        {"parameters", std::move(parameters)},
        {"responses",
         json::Object{
             {"200", json::Object{{"description", "OK"},
                                  {"content", json::Object{{"application/json",
                                                            json::Object{{"schema", std::move(answer_schema)}}}}}}}}},
        {"x-kubernetes-action", action},
        {"x-kubernetes-group-version-kind", gvk_json(kind_.group, version_.name, kind_.kind)}};
    if (!takes.empty()) {
      operation["requestBody"] = json_body({"application/json"}, schema_ref(schema_name(kind_, version_, takes)), true);
    } else if (action == "patch") {
      operation["requestBody"] =
          json_body({"application/json-patch+json", "application/merge-patch+json"}, schema_ref(kPatchType), true);
    } else if (action == "delete" || action == "deletecollection") {
      operation["requestBody"] = json_body({"application/json"}, schema_ref(kDeleteOptions), false);
    }
    return operation;
  }

  const Kind& kind_;
  const KindVersion& version_;
};

json::Value document_of(const Registry& registry, std::string_view group, std::string_view version_name) {
  json::Object paths;
  json::Object schemas = meta_schemas();
  for (const Kind& kind : registry.kinds()) {
    const KindVersion* version = kind.group == group ? kind.version(version_name) : nullptr;
    if (version == nullptr || !version->served) continue;
    KindPaths(kind, *version).add_to(paths);
    schemas[schema_name(kind, *version, kind.kind)] = object_schema(kind, *version);
    schemas[schema_name(kind, *version, kind.list_kind)] = list_schema(kind, *version);
  }
  return json::Object{{"openapi", "3.0.0"},
                      {"info", json::Object{{"title", "Strake"}, {"version", kKubernetesVersion}}},
                      {"paths", std::move(paths)},
                      {"components", json::Object{{"schemas", std::move(schemas)}}}};
}

OpenApi::Document finished(const json::Value& value) {
  OpenApi::Document document{json::write_canonical(value), {}};
  document.hash = codec::sha256_hex(document.text);
  return document;
}

}  // namespace

void OpenApi::make() const {
  json::Object index;
  for (const std::string& group : served_groups(registry_)) {
    for (const std::string& version : served_versions(registry_, group)) {
      const std::string path =
          group.empty() ? fmt::format("api/{}", version) : fmt::format("apis/{}/{}", group, version);
      Document document = finished(document_of(registry_, group, version));
      index[path] = json::Object{{"serverRelativeURL", fmt::format("/openapi/v3/{}?hash={}", path, document.hash)}};
      documents_.emplace(path, std::move(document));
    }
  }
  index_ = finished(json::Object{{"paths", std::move(index)}});
}

const OpenApi::Document& OpenApi::index() const {
  std::call_once(made_, [this] { make(); });
  return index_;
}

const OpenApi::Document* OpenApi::find(std::string_view path) const {
  std::call_once(made_, [this] { make(); });
  const auto found = documents_.find(path);
  return found == documents_.end() ? nullptr : &found->second;
}

}  // namespace strake::apistore::rest
