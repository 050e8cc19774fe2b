// The pieces every OpenAPI document shares: schemas of metadata, parameters of requests.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "codec/json.h"

namespace strake::apistore::rest {

inline constexpr std::string_view kObjectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
inline constexpr std::string_view kOwnerReference = "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference";
inline constexpr std::string_view kManagedFieldsEntry = "io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry";
inline constexpr std::string_view kFieldsV1 = "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1";
inline constexpr std::string_view kListMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
inline constexpr std::string_view kDeleteOptions = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
inline constexpr std::string_view kPatchType = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";
inline constexpr std::string_view kStatus = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";

inline constexpr std::string_view kApiVersionText = "The group and version of the schema this object follows.";
inline constexpr std::string_view kKindText = "The kind of object this is.";
inline constexpr std::string_view kMetadataText = "What every object has: name, labels, annotations, owners.";
inline constexpr std::string_view kListMetadataText = "The version of the list, and where its next page begins.";

json::Object schema_ref(std::string_view name);
/// The schemas the names above stand for.
json::Object meta_schemas();

json::Object path_parameter(std::string_view name, std::string_view description);
json::Array list_parameters();
json::Array write_parameters(bool with_force);
json::Array delete_parameters();

json::Object json_body(std::initializer_list<std::string_view> media_types, const json::Object& schema, bool required);

}  // namespace strake::apistore::rest
