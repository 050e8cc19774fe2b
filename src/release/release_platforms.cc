#include "release/release_platforms.h"

#include <algorithm>

namespace strake::release {

Result<std::vector<oci::Platform>> release_platforms(const ReleasePlace& place, const runtime::Call& call) {
  STRAKE_TRY(const PlacedImage release, place.find_release(call));
  if (!oci::is_index_type(release.entry.media_type)) {
    STRAKE_TRY(const oci::Manifest manifest, release.source->read_manifest(release.entry, call));
    STRAKE_TRY(const oci::ImageConfig config, release.source->read_config(manifest, call));
    return std::vector{config.platform};
  }
  STRAKE_TRY(const std::string text, release.source->read_blob(release.entry, oci::kMaxManifestBytes, call));
  STRAKE_TRY(const oci::Index index, oci::parse_index(text, release.entry.media_type));
  std::vector<oci::Platform> platforms;
  for (const oci::Descriptor& image : index.manifests) {
    // Attestations are listed for a system nobody has.
    if (!image.platform || image.platform->os != "linux") continue;
    const bool known = std::ranges::any_of(platforms, [&](const oci::Platform& platform) {
      return platform.architecture == image.platform->architecture;
    });
    if (!known) platforms.push_back({image.platform->os, image.platform->architecture, ""});
  }
  if (platforms.empty()) {
    return error(Code::kNotFound, "{} lists no image for an architecture", release.entry.digest.to_string());
  }
  return platforms;
}

}  // namespace strake::release
