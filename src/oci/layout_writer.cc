#include <system_error>

#include "base/fd.h"
#include "codec/compress.h"
#include "oci/layout.h"

namespace strake::oci {

namespace {

constexpr mode_t kLayoutFileMode = 0644;

json::Object text_map_json(const std::map<std::string, std::string>& map) {
  json::Object object;
  for (const auto& [key, value] : map) object[key] = value;
  return object;
}

}  // namespace

Result<LayoutWriter> LayoutWriter::create(std::filesystem::path directory) {
  std::error_code failure;
  std::filesystem::create_directories(directory / "blobs" / "sha256", failure);
  if (failure) {
    return errno_error(failure.value(), fmt::format("creating image layout {}", directory.string()));
  }
  STRAKE_CHECK_OK(write_file_atomic(directory / "oci-layout",
                                    json::write(json::Object{{"imageLayoutVersion", "1.0.0"}}), kLayoutFileMode));
  return LayoutWriter(std::move(directory));
}

Result<LayoutWriter> LayoutWriter::extend(std::filesystem::path directory) {
  STRAKE_TRY(LayoutWriter writer, create(directory));
  Result<std::string> text = read_file(directory / "index.json", kMaxManifestBytes);
  if (!text.ok() && text.error().code() == Code::kNotFound) return writer;
  if (!text.ok()) return std::move(text).error();
  STRAKE_TRY_CONTEXT(Index index, parse_index(*text), "index.json of image layout {}", directory.string());
  writer.entries_ = std::move(index.manifests);
  return writer;
}

Result<Descriptor> LayoutWriter::add_blob(std::string_view type, std::string_view bytes) {
  Descriptor descriptor{std::string(type), codec::Digest::sha256_of(bytes), bytes.size()};
  STRAKE_CHECK_OK(write_file_atomic(directory_ / "blobs" / "sha256" / descriptor.digest.hex(), bytes, kLayoutFileMode)
                      .context("writing blob {}", descriptor.digest.to_string()));
  return descriptor;
}

Result<Descriptor> LayoutWriter::add_image(const ImageSpec& spec) {
  json::Array diff_ids;
  std::vector<Descriptor> layers;
  for (const std::string& tar : spec.layers) {
    diff_ids.push_back(json::Value(codec::Digest::sha256_of(tar).to_string()));
    STRAKE_TRY(Descriptor layer, add_blob(media_type::kOciLayerGzip, codec::gzip(tar)));
    layers.push_back(std::move(layer));
  }
  json::Object config{{"architecture", spec.platform.architecture},
                      {"config", json::Object{{"Labels", text_map_json(spec.labels)}}},
                      {"created", spec.created},
                      {"os", spec.platform.os},
                      {"rootfs", json::Object{{"diff_ids", std::move(diff_ids)}, {"type", "layers"}}}};
  if (!spec.platform.variant.empty()) config["variant"] = spec.platform.variant;
  STRAKE_TRY(const Descriptor config_blob, add_blob(media_type::kOciConfig, json::write_canonical(config)));
  const json::Object manifest{{"schemaVersion", 2},
                              {"mediaType", media_type::kOciManifest},
                              {"config", config_blob.to_json()},
                              {"layers", to_json(layers)}};
  STRAKE_TRY(Descriptor descriptor, add_blob(media_type::kOciManifest, json::write_canonical(manifest)));
  descriptor.platform = spec.platform;
  return descriptor;
}

Result<Descriptor> LayoutWriter::add_index(const std::vector<Descriptor>& manifests) {
  return add_blob(media_type::kOciIndex, write_index(manifests));
}

void LayoutWriter::tag(Descriptor descriptor, std::string_view ref_name) {
  const std::string annotation(kRefNameAnnotation);
  std::erase_if(entries_, [&](const Descriptor& entry) {
    const auto name = entry.annotations.find(annotation);
    return name != entry.annotations.end() && name->second == ref_name;
  });
  descriptor.annotations[annotation] = ref_name;
  entries_.push_back(std::move(descriptor));
}

Status LayoutWriter::finish() {
  return write_file_atomic(directory_ / "index.json", write_index(entries_), kLayoutFileMode);
}

}  // namespace strake::oci
