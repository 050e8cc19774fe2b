// What `docker save` and `skopeo copy ... docker-archive:` write: a tar with manifest.json, configs and plain layers.
//
// Such an archive holds no image manifest of its own. One is made from its parts: same archive, same bytes, and the
// layers' digests are those the image config promises.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "oci/image_source.h"

namespace strake::oci {

class FileStore;

class DockerArchive final : public ImageSource {
 public:
  static Result<DockerArchive> open(const std::filesystem::path& archive);

  std::string description() const override;
  /// By tag as saved ("docker.io/library/busybox:1"), by that reference written shorter, or by manifest digest.
  Result<std::vector<Descriptor>> find_entries(std::string_view reference,
                                               const runtime::Call& call = {}) const override;
  Result<std::unique_ptr<BlobSource>> open_blob(const Descriptor& descriptor,
                                                const runtime::Call& call = {}) const override;

 private:
  explicit DockerArchive(std::shared_ptr<const FileStore> files) : files_(std::move(files)) {}
  Status add_image(const json::Value& entry);
  Result<Descriptor> describe_layer(const std::string& member, const codec::Digest& diff_id);

  struct Image {
    Descriptor manifest;
    std::vector<std::string> tags;  ///< complete references
  };

  std::shared_ptr<const FileStore> files_;
  std::vector<Image> images_;
  std::map<codec::Digest, std::string> members_;    ///< configs and layers: where they are in the archive
  std::map<codec::Digest, std::string> documents_;  ///< the manifests that were made
};

}  // namespace strake::oci
