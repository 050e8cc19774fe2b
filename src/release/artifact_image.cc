#include "release/artifact_image.h"

#include "codec/json.h"

namespace strake::release {

namespace {

constexpr std::string_view kEmptyConfigType = "application/vnd.oci.empty.v1+json";

}  // namespace

oci::Descriptor empty_config() {
  return {std::string(kEmptyConfigType), codec::Digest::sha256_of(kEmptyConfig), kEmptyConfig.size()};
}

std::string artifact_manifest(std::string_view artifact_type, const std::vector<oci::Descriptor>& files,
                              const std::map<std::string, std::string>& annotations) {
  json::Array layers;
  for (const oci::Descriptor& file : files) layers.push_back(file.to_json());
  json::Object texts;
  for (const auto& [name, text] : annotations) texts[name] = text;
  return json::write_canonical(json::Object{{"schemaVersion", 2},
                                            {"mediaType", oci::media_type::kOciManifest},
                                            {"artifactType", artifact_type},
                                            {"config", empty_config().to_json()},
                                            {"layers", std::move(layers)},
                                            {"annotations", std::move(texts)}});
}

oci::Descriptor manifest_descriptor(std::string_view manifest) {
  return {std::string(oci::media_type::kOciManifest), codec::Digest::sha256_of(manifest), manifest.size()};
}

ArtifactImages::ArtifactImages() { blobs_.emplace(empty_config().digest, kEmptyConfig); }

void ArtifactImages::add(std::string tag, std::string_view artifact_type, const std::vector<File>& files) {
  std::vector<oci::Descriptor> layers;
  for (const File& file : files) {
    oci::Descriptor layer{file.media_type, codec::Digest::sha256_of(file.bytes), file.bytes.size()};
    layer.annotations = {{std::string(kTitleAnnotation), file.title}};
    blobs_.insert_or_assign(layer.digest, file.bytes);
    layers.push_back(std::move(layer));
  }
  std::string manifest = artifact_manifest(artifact_type, layers, {});
  oci::Descriptor entry = manifest_descriptor(manifest);
  blobs_.insert_or_assign(entry.digest, std::move(manifest));
  tags_.insert_or_assign(std::move(tag), std::move(entry));
}

Result<std::vector<oci::Descriptor>> ArtifactImages::find_entries(std::string_view reference,
                                                                  const runtime::Call&) const {
  const auto found = tags_.find(reference);
  if (found == tags_.end()) return error(Code::kNotFound, "there is no artifact {}", reference);
  return std::vector{found->second};
}

Result<std::unique_ptr<oci::BlobSource>> ArtifactImages::open_blob(const oci::Descriptor& descriptor,
                                                                   const runtime::Call&) const {
  const auto found = blobs_.find(descriptor.digest);
  if (found == blobs_.end()) return error(Code::kNotFound, "there is no blob {}", descriptor.digest.to_string());
  return std::make_unique<oci::BlobSource>(oci::make_text_source(found->second), descriptor.digest.to_string(),
                                           descriptor);
}

}  // namespace strake::release
