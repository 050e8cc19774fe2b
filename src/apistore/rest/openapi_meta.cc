#include "apistore/rest/openapi_meta.h"

#include <fmt/format.h>

namespace strake::apistore::rest {

namespace {

json::Object typed(std::string_view type, std::string_view description) {
  return {{"type", type}, {"description", description}};
}

json::Object timestamp(std::string_view description) {
  return {{"type", "string"}, {"format", "date-time"}, {"description", description}};
}

json::Object text_map(std::string_view description) {
  return {{"type", "object"}, {"description", description}, {"additionalProperties", json::Object{{"type", "string"}}}};
}

json::Object query_parameter(std::string_view name, std::string_view type, std::string_view description) {
  return {{"name", name},
          {"in", "query"},
          {"description", description},
          {"schema", json::Object{{"type", type}, {"uniqueItems", true}}}};
}

json::Object owner_reference() {
  return {{"type", "object"},
          {"description", "An object this one depends on."},
          {"required", json::Array{"apiVersion", "kind", "name", "uid"}},
          {"x-kubernetes-map-type", "atomic"},
          {"properties",
           json::Object{{"apiVersion", typed("string", "The owner's group and version.")},
                        {"kind", typed("string", "The owner's kind.")},
                        {"name", typed("string", "The owner's name.")},
                        {"uid", typed("string", "The owner's uid.")},
                        {"controller", typed("boolean", "Whether the owner manages this object.")},
                        {"blockOwnerDeletion",
                         typed("boolean", "Whether a foreground deletion of the owner waits for this object.")}}}};
}

json::Object managed_fields_entry() {
  constexpr std::string_view kNotKept = "Not kept by this server.";
  return {{"type", "object"},
          {"description", "What one writer set, for server-side apply."},
          {"properties", json::Object{{"apiVersion", typed("string", kNotKept)},
                                      {"fieldsType", typed("string", kNotKept)},
                                      {"fieldsV1", schema_ref(kFieldsV1)},
                                      {"manager", typed("string", kNotKept)},
                                      {"operation", typed("string", kNotKept)},
                                      {"subresource", typed("string", kNotKept)},
                                      {"time", timestamp(kNotKept)}}}};
}

json::Object object_meta() {
  return {{"type", "object"},
          {"properties",
           json::Object{
               {"annotations", text_map("Notes of tools and people; nothing is selected by them.")},
               {"creationTimestamp", timestamp("When the server stored the object first. Set by the server.")},
               {"deletionGracePeriodSeconds", typed("integer", "How long a deletion waits. Set by the server.")},
               {"deletionTimestamp", timestamp("When deletion was asked for. Set by the server.")},
               {"finalizers", json::Object{{"type", "array"},
                                           {"description", "Who must let go before the object is removed."},
                                           {"items", json::Object{{"type", "string"}}},
                                           {"x-kubernetes-list-type", "set"},
                                           {"x-kubernetes-patch-strategy", "merge"}}},
               {"generateName", typed("string", "The beginning of a name the server completes.")},
               {"generation", typed("integer", "Counts changes of what is desired. Set by the server.")},
               {"labels", text_map("Pairs by which objects are selected.")},
               {"managedFields", json::Object{{"type", "array"},
                                              {"description", "Not kept by this server."},
                                              {"items", schema_ref(kManagedFieldsEntry)},
                                              {"x-kubernetes-list-type", "atomic"}}},
               {"name", typed("string", "Unique within kind and namespace; never changes.")},
               {"namespace", typed("string", "The space within which the name is unique; never changes.")},
               {"ownerReferences", json::Object{{"type", "array"},
                                                {"description", "The objects this one is removed with."},
                                                {"items", schema_ref(kOwnerReference)},
                                                {"x-kubernetes-list-type", "map"},
                                                {"x-kubernetes-list-map-keys", json::Array{"uid"}},
                                                {"x-kubernetes-patch-strategy", "merge"},
                                                {"x-kubernetes-patch-merge-key", "uid"}}},
               {"resourceVersion", typed("string", "Changes with every write; opaque to clients. Set by the server.")},
               {"selfLink", typed("string", "Not used any more.")},
               {"uid", typed("string", "Tells objects of the same name apart over time. Set by the server.")}}}};
}

json::Object list_meta() {
  return {{"type", "object"},
          {"properties",
           json::Object{{"continue", typed("string", "Sent back to get the next page.")},
                        {"remainingItemCount", typed("integer", "How many objects follow this page, when known.")},
                        {"resourceVersion", typed("string", "The version of the whole; a watch begins behind it.")},
                        {"selfLink", typed("string", "Not used any more.")}}}};
}

json::Object delete_options() {
  return {
      {"type", "object"},
      {"description", "How an object is deleted."},
      {"properties",
       json::Object{
           {"apiVersion", typed("string", kApiVersionText)},
           {"kind", typed("string", kKindText)},
           {"dryRun", json::Object{{"type", "array"},
                                   {"description", "All: check everything, change nothing."},
                                   {"items", json::Object{{"type", "string"}}}}},
           {"gracePeriodSeconds", typed("integer", "How long the deletion waits; 0 is at once.")},
           {"orphanDependents", typed("boolean", "Use propagationPolicy.")},
           {"preconditions",
            json::Object{{"type", "object"},
                         {"description", "What must still hold."},
                         {"properties", json::Object{{"resourceVersion", typed("string", "The version seen last.")},
                                                     {"uid", typed("string", "The object meant.")}}}}},
           {"propagationPolicy", typed("string", "Background, Foreground or Orphan: what becomes of dependents.")}}}};
}

json::Object status_schema() {
  return {{"type", "object"},
          {"description", "The outcome of a call that returns no object."},
          {"properties",
           json::Object{{"apiVersion", typed("string", kApiVersionText)},
                        {"kind", typed("string", kKindText)},
                        {"metadata", schema_ref(kListMeta)},
                        {"status", typed("string", "Success or Failure.")},
                        {"message", typed("string", "What went wrong, for people.")},
                        {"reason", typed("string", "What went wrong, in one word.")},
                        {"details", json::Object{{"type", "object"}, {"description", "What the failure is about."}}},
                        {"code", typed("integer", "The HTTP status.")}}},
          {"x-kubernetes-group-version-kind",
           json::Array{json::Object{{"group", ""}, {"version", "v1"}, {"kind", "Status"}}}}};
}

}  // namespace

json::Object schema_ref(std::string_view name) { return {{"$ref", fmt::format("#/components/schemas/{}", name)}}; }

json::Object meta_schemas() {
  json::Object schemas;
  schemas[kObjectMeta] = object_meta();
  schemas[kOwnerReference] = owner_reference();
  schemas[kManagedFieldsEntry] = managed_fields_entry();
  schemas[kFieldsV1] = json::Object{{"type", "object"}, {"description", "A set of fields."}};
  schemas[kListMeta] = list_meta();
  schemas[kDeleteOptions] = delete_options();
  schemas[kPatchType] = json::Object{{"type", "object"}, {"description", "A partial object, or a list of operations."}};
  schemas[kStatus] = status_schema();
  return schemas;
}

json::Object path_parameter(std::string_view name, std::string_view description) {
  return {{"name", name},
          {"in", "path"},
          {"required", true},
          {"description", description},
          {"schema", json::Object{{"type", "string"}, {"uniqueItems", true}}}};
}

json::Array list_parameters() {
  return {query_parameter("labelSelector", "string", "Only objects with these labels."),
          query_parameter("fieldSelector", "string", "Only objects with these field values."),
          query_parameter("limit", "integer", "The size of a page."),
          query_parameter("continue", "string", "Where the page begins, from the page before."),
          query_parameter("resourceVersion", "string", "Which state to show, or behind which to watch."),
          query_parameter("resourceVersionMatch", "string", "Exact or NotOlderThan."),
          query_parameter("sendInitialEvents", "boolean", "Whether a watch begins with the present state."),
          query_parameter("allowWatchBookmarks", "boolean", "Whether a watch may tell how far it is."),
          query_parameter("timeoutSeconds", "integer", "When a watch ends by itself."),
          query_parameter("watch", "boolean", "Changes instead of a list.")};
}

json::Array write_parameters(bool with_force) {
  json::Array parameters = {
      query_parameter("dryRun", "string", "All: check everything, change nothing."),
      query_parameter("fieldManager", "string", "Who writes."),
      query_parameter("fieldValidation", "string", "Ignore, Warn or Strict: what to do about unknown fields.")};
  if (with_force)
    parameters.push_back(query_parameter("force", "boolean", "For server-side apply, which is not supported."));
  return parameters;
}

json::Array delete_parameters() {
  return {query_parameter("dryRun", "string", "All: check everything, change nothing."),
          query_parameter("gracePeriodSeconds", "integer", "How long the deletion waits; 0 is at once."),
          query_parameter("orphanDependents", "boolean", "Use propagationPolicy."),
          query_parameter("propagationPolicy", "string", "Background, Foreground or Orphan.")};
}

json::Object json_body(std::initializer_list<std::string_view> media_types, const json::Object& schema, bool required) {
  json::Object content;
  for (const std::string_view type : media_types) content[type] = json::Object{{"schema", schema}};
  json::Object body{{"content", std::move(content)}};
  if (required) body["required"] = true;
  return body;
}

}  // namespace strake::apistore::rest
