#include "osimage/os_import.h"

#include "oci/layers.h"

namespace strake::osimage {

namespace {

class ImageLayers final : public ostree::LayerSource {
 public:
  ImageLayers(const oci::ImageSource& source, oci::BlobCache* cache, const oci::Manifest& manifest,
              const runtime::Call& call)
      : source_(source), cache_(cache), manifest_(manifest), call_(call) {}

  Status read_layer(std::size_t number, const std::function<Status(codec::Source& tar)>& read) override {
    const oci::Descriptor& layer = manifest_.layers[number];
    const auto read_from = [&](const oci::ImageSource& source) { return oci::read_layer(source, layer, read, call_); };
    return oci::read_sparingly(source_, cache_, layer, read_from);
  }

 private:
  const oci::ImageSource& source_;
  oci::BlobCache* cache_;
  const oci::Manifest& manifest_;
  const runtime::Call& call_;
};

}  // namespace

Result<FetchedImage> describe_image(const oci::ImageSource& source, std::string_view reference,
                                    const oci::Platform& platform, const runtime::Call& call) {
  STRAKE_TRY(const oci::Descriptor descriptor, source.resolve(reference, platform, call));
  const std::string digest = descriptor.digest.to_string();
  STRAKE_TRY_CONTEXT(std::string manifest_text, source.read_blob(descriptor, oci::kMaxManifestBytes, call),
                     "reading manifest {}", digest);
  STRAKE_TRY_CONTEXT(oci::Manifest manifest, oci::parse_manifest(manifest_text, descriptor.media_type), "manifest {}",
                     digest);
  STRAKE_TRY_CONTEXT(std::string config_text, source.read_blob(manifest.config, oci::kMaxConfigBytes, call),
                     "reading the config of {}", digest);
  STRAKE_TRY_CONTEXT(oci::ImageConfig config, oci::parse_image_config(config_text), "config of {}", digest);
  if (config.diff_ids.size() != manifest.layers.size()) {
    return error(Code::kCorrupt, "the image has {} layers, but its config lists {}", manifest.layers.size(),
                 config.diff_ids.size());
  }
  if (!platform.accepts(config.platform)) {
    return error(Code::kInvalidArgument, "the image is for {}, not for {}", config.platform.to_string(),
                 platform.to_string());
  }
  ostree::ImageDescription description{.manifest_digest = descriptor.digest,
                                       .manifest = std::move(manifest_text),
                                       .config = std::move(config_text),
                                       .labels = std::move(config.labels),
                                       .annotations = manifest.annotations};
  description.layers.reserve(manifest.layers.size());
  for (std::size_t i = 0; i < manifest.layers.size(); ++i) {
    description.layers.push_back({manifest.layers[i].digest, config.diff_ids[i], manifest.layers[i].size});
  }
  return FetchedImage{std::move(manifest), std::move(description)};
}

Result<ostree::ImportReport> import_os_image(ostree::RepositoryWriter& writer, const oci::ImageSource& source,
                                             oci::BlobCache* cache, const FetchedImage& image,
                                             const ostree::ImportOptions& options, const runtime::Call& call) {
  ImageLayers layers(source, cache, image.manifest, call);
  return ostree::import_image(writer, image.description, layers, options);
}

}  // namespace strake::osimage
