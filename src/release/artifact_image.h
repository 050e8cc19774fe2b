// Files carried as images: a manifest with an empty config whose layers are the files themselves, as OCI artifacts are
// stored. Registries, layouts and tools that copy images take them like any other.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "oci/image_source.h"

namespace strake::release {

/// The blob every such image has as its config: "{}".
inline constexpr std::string_view kEmptyConfig = "{}";
oci::Descriptor empty_config();

/// Names the file of a layer for people and for tools that unpack artifacts.
inline constexpr std::string_view kTitleAnnotation = "org.opencontainers.image.title";

/// The same files always give the same bytes.
std::string artifact_manifest(std::string_view artifact_type, const std::vector<oci::Descriptor>& files,
                              const std::map<std::string, std::string>& annotations);

oci::Descriptor manifest_descriptor(std::string_view manifest);

/// Such images with small files, made in memory to be copied somewhere.
class ArtifactImages final : public oci::ImageSource {
 public:
  struct File {
    std::string media_type;
    std::string title;
    std::string bytes;
  };
  ArtifactImages();
  void add(std::string tag, std::string_view artifact_type, const std::vector<File>& files);

  std::string description() const override { return "artifacts made here"; }
  Result<std::vector<oci::Descriptor>> find_entries(std::string_view reference,
                                                    const runtime::Call& call = {}) const override;
  Result<std::unique_ptr<oci::BlobSource>> open_blob(const oci::Descriptor& descriptor,
                                                     const runtime::Call& call = {}) const override;

 private:
  std::map<std::string, oci::Descriptor, std::less<>> tags_;
  std::map<codec::Digest, std::string> blobs_;
};

}  // namespace strake::release
