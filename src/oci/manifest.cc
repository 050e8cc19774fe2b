#include "oci/manifest.h"

#include <algorithm>

namespace strake::oci {

namespace {

Error field_error(std::string_view path, std::string_view expected, const json::Value* found) {
  return error(Code::kCorrupt, "{}: expected {}, found {}", path, expected,
               found == nullptr ? "nothing" : json::type_name(*found));
}

Result<std::string> required_text(const json::Value& object, std::string_view member, std::string_view path) {
  const json::Value* value = json::find(object, {member});
  if (value == nullptr || !value->is_string()) return field_error(fmt::format("{}{}", path, member), "a string", value);
  return std::string(json::as_view(value->get_string()));
}

Result<std::map<std::string, std::string>> optional_text_map(const json::Value& object, std::string_view member,
                                                             std::string_view path) {
  std::map<std::string, std::string> map;
  const json::Value* value = json::find(object, {member});
  if (value == nullptr || value->is_null()) return map;
  if (!value->is_object()) return field_error(fmt::format("{}{}", path, member), "an object", value);
  for (const auto& [key, text] : value->get_object()) {
    if (!text.is_string())
      return field_error(fmt::format("{}{}.{}", path, member, std::string_view(key)), "a string", &text);
    map.emplace(key, json::as_view(text.get_string()));
  }
  return map;
}

Result<Descriptor> parse_descriptor(const json::Value* value, const std::string& path) {
  if (value == nullptr || !value->is_object()) return field_error(path, "a descriptor object", value);
  const std::string prefix = path + ".";
  STRAKE_TRY(std::string type, required_text(*value, "mediaType", prefix));
  STRAKE_TRY(const std::string digest_text, required_text(*value, "digest", prefix));
  STRAKE_TRY_CONTEXT(codec::Digest digest, codec::Digest::parse(digest_text), "{}digest", prefix);
  const std::optional<std::int64_t> size = json::find_int(*value, {"size"});
  if (!size || *size < 0) return field_error(prefix + "size", "a size in bytes", json::find(*value, {"size"}));
  Descriptor descriptor{std::move(type), std::move(digest), static_cast<std::uint64_t>(*size)};
  STRAKE_TRY(descriptor.annotations, optional_text_map(*value, "annotations", prefix));
  if (const json::Value* platform = json::find(*value, {"platform"}); platform != nullptr && !platform->is_null()) {
    Platform named;
    STRAKE_TRY(named.os, required_text(*platform, "os", prefix + "platform."));
    STRAKE_TRY(named.architecture, required_text(*platform, "architecture", prefix + "platform."));
    named.variant = json::find_string(*platform, {"variant"}).value_or("");
    descriptor.platform = std::move(named);
  }
  descriptor.artifact_type = json::find_string(*value, {"artifactType"}).value_or("");
  return descriptor;
}

Result<std::vector<Descriptor>> parse_descriptors(const json::Value& list, std::string_view name, std::size_t limit) {
  if (!list.is_array()) return field_error(name, "an array", &list);
  const json::Array& items = list.get_array();
  if (items.size() > limit) {
    return error(Code::kExhausted, "{}: {} entries, more than the {} a reader accepts", name, items.size(), limit);
  }
  std::vector<Descriptor> descriptors;
  descriptors.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    STRAKE_TRY(Descriptor descriptor, parse_descriptor(&items[i], fmt::format("{}[{}]", name, i)));
    descriptors.push_back(std::move(descriptor));
  }
  return descriptors;
}

}  // namespace

bool is_index_type(std::string_view type) { return type == media_type::kOciIndex || type == media_type::kDockerList; }

bool is_manifest_type(std::string_view type) {
  return type == media_type::kOciManifest || type == media_type::kDockerManifest;
}

std::string Platform::to_string() const {
  return variant.empty() ? fmt::format("{}/{}", os, architecture) : fmt::format("{}/{}/{}", os, architecture, variant);
}

bool Platform::accepts(const Platform& other) const {
  return os == other.os && architecture == other.architecture && (variant.empty() || variant == other.variant);
}

json::Object Descriptor::to_json() const {
  json::Object object{{"mediaType", media_type}, {"digest", digest.to_string()}, {"size", size}};
  if (!annotations.empty()) {
    json::Object map;
    for (const auto& [key, value] : annotations) map[key] = value;
    object["annotations"] = std::move(map);
  }
  if (platform) {
    json::Object named{{"architecture", platform->architecture}, {"os", platform->os}};
    if (!platform->variant.empty()) named["variant"] = platform->variant;
    object["platform"] = std::move(named);
  }
  if (!artifact_type.empty()) object["artifactType"] = artifact_type;
  return object;
}

json::Array to_json(const std::vector<Descriptor>& descriptors) {
  json::Array array;
  for (const Descriptor& descriptor : descriptors) array.push_back(descriptor.to_json());
  return array;
}

std::string write_index(const std::vector<Descriptor>& manifests) {
  return json::write_canonical(
      json::Object{{"schemaVersion", 2}, {"mediaType", media_type::kOciIndex}, {"manifests", to_json(manifests)}});
}

void add_missing(std::vector<Descriptor>& descriptors, std::vector<Descriptor> more) {
  for (Descriptor& candidate : more) {
    const bool known = std::any_of(descriptors.begin(), descriptors.end(),
                                   [&](const Descriptor& other) { return other.digest == candidate.digest; });
    if (!known) descriptors.push_back(std::move(candidate));
  }
}

Result<std::variant<Manifest, Index>> parse_document(std::string_view text, std::string_view announced_type) {
  json::ParseLimits limits;
  limits.max_bytes = kMaxManifestBytes;
  STRAKE_TRY(const json::Value document, json::parse(text, limits));
  if (!document.is_object()) return field_error("document", "an object", &document);
  const std::optional<std::int64_t> schema = json::find_int(document, {"schemaVersion"});
  if (schema == 1) {
    return error(Code::kUnsupported,
                 "Docker schema 1 manifest; convert the image, for example with skopeo copy --format oci");
  }
  if (schema != 2) return field_error("schemaVersion", "2", json::find(document, {"schemaVersion"}));

  const json::Value* manifests = json::find(document, {"manifests"});
  const json::Value* layers = json::find(document, {"layers"});
  const json::Value* config = json::find(document, {"config"});
  if (manifests != nullptr && (layers != nullptr || config != nullptr)) {
    return error(Code::kCorrupt, "the document is an index and a manifest at once, which no honest builder writes");
  }
  const std::string own_type = json::find_string(document, {"mediaType"}).value_or("");
  if (!own_type.empty() && !announced_type.empty() && own_type != announced_type) {
    return error(Code::kCorrupt, "mediaType is {} but the document was announced as {}", own_type, announced_type);
  }
  const std::string type = own_type.empty() ? std::string(announced_type) : own_type;

  if (manifests != nullptr) {
    if (!type.empty() && !is_index_type(type)) return error(Code::kCorrupt, "an index of media type {}", type);
    Index index;
    index.media_type = type.empty() ? std::string(media_type::kOciIndex) : type;
    STRAKE_TRY(index.manifests, parse_descriptors(*manifests, "manifests", kMaxIndexEntries));
    STRAKE_TRY(index.annotations, optional_text_map(document, "annotations", ""));
    return std::variant<Manifest, Index>(std::move(index));
  }
  if (!type.empty() && !is_manifest_type(type)) return error(Code::kUnsupported, "a manifest of media type {}", type);
  if (layers == nullptr) return field_error("layers", "an array", layers);
  STRAKE_TRY(Descriptor config_descriptor, parse_descriptor(config, "config"));
  STRAKE_TRY(std::vector<Descriptor> layer_descriptors, parse_descriptors(*layers, "layers", kMaxLayers));
  STRAKE_TRY(auto annotations, optional_text_map(document, "annotations", ""));
  return std::variant<Manifest, Index>(Manifest{type.empty() ? std::string(media_type::kOciManifest) : type,
                                                std::move(config_descriptor), std::move(layer_descriptors),
                                                std::move(annotations)});
}

Result<Manifest> parse_manifest(std::string_view text, std::string_view announced_type) {
  STRAKE_TRY(auto document, parse_document(text, announced_type));
  if (Manifest* manifest = std::get_if<Manifest>(&document)) return std::move(*manifest);
  return error(Code::kInvalidArgument, "expected an image manifest, found an index");
}

Result<Index> parse_index(std::string_view text, std::string_view announced_type) {
  STRAKE_TRY(auto document, parse_document(text, announced_type));
  if (Index* index = std::get_if<Index>(&document)) return std::move(*index);
  return error(Code::kInvalidArgument, "expected an image index, found a manifest");
}

Result<ImageConfig> parse_image_config(std::string_view text) {
  json::ParseLimits limits;
  limits.max_bytes = kMaxConfigBytes;
  STRAKE_TRY(const json::Value document, json::parse(text, limits));
  if (!document.is_object()) return field_error("document", "an object", &document);
  ImageConfig config;
  STRAKE_TRY(config.platform.os, required_text(document, "os", ""));
  STRAKE_TRY(config.platform.architecture, required_text(document, "architecture", ""));
  config.platform.variant = json::find_string(document, {"variant"}).value_or("");
  if (const json::Value* runtime = json::find(document, {"config"}); runtime != nullptr && runtime->is_object()) {
    STRAKE_TRY(config.labels, optional_text_map(*runtime, "Labels", "config."));
  }
  const json::Value* diff_ids = json::find(document, {"rootfs", "diff_ids"});
  if (diff_ids == nullptr || !diff_ids->is_array()) return field_error("rootfs.diff_ids", "an array", diff_ids);
  for (std::size_t i = 0; i < diff_ids->get_array().size(); ++i) {
    const json::Value& item = diff_ids->get_array()[i];
    if (!item.is_string()) return field_error(fmt::format("rootfs.diff_ids[{}]", i), "a digest", &item);
    STRAKE_TRY_CONTEXT(codec::Digest digest, codec::Digest::parse(json::as_view(item.get_string())),
                       "rootfs.diff_ids[{}]", i);
    config.diff_ids.push_back(std::move(digest));
  }
  return config;
}

}  // namespace strake::oci
