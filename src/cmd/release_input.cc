#include "cmd/release_input.h"

namespace strake::cmd {

Result<std::unique_ptr<release::ReleasePlace>> open_release(ImageAccess& access, std::string_view text) {
  STRAKE_TRY(const oci::ImageName name, oci::find_image_name(text));
  if (name.transport == oci::Transport::kRegistry) {
    STRAKE_TRY(const oci::Reference reference, oci::parse_reference(name.place));
    return release::ReleasePlace::in_registry(reference, access.registries());
  }
  STRAKE_TRY(oci::OpenedImage opened, oci::open_image(name, access.registries()));
  return std::make_unique<release::ReleasePlace>(std::move(opened.source), std::move(opened.reference));
}

Result<release::ReleasePayload> read_release(ImageAccess& access, const release::ReleasePlace& place,
                                             release::OsImageCheck os_images) {
  const release::PayloadOptions options{access.platform(),
                                        place.is_local() ? release::OsImageCheck::kLayers : os_images, access.cache()};
  return release::read_payload(place, options, access.runtime(), access.call());
}

Result<release::ReleasePayload> read_release(const Invocation& invocation, std::string_view text,
                                             release::OsImageCheck os_images) {
  STRAKE_TRY(const std::unique_ptr<ImageAccess> access, ImageAccess::create(invocation));
  STRAKE_TRY(const auto place, open_release(*access, text));
  return read_release(*access, *place, os_images);
}

}  // namespace strake::cmd
