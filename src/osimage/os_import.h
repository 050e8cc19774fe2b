// An OS image of a registry, layout or archive, imported into an ostree repository.
#pragma once

#include <string_view>

#include "oci/blob_cache.h"
#include "oci/image_source.h"
#include "ostree/import/image_import.h"

namespace strake::osimage {

/// What the image says about itself, for plan_import(): manifest and config are fetched, no layer is.
struct FetchedImage {
  oci::Manifest manifest;
  ostree::ImageDescription description;
};
Result<FetchedImage> describe_image(const oci::ImageSource& source, std::string_view reference,
                                    const oci::Platform& platform, const runtime::Call& call);

/// `cache` may be nullptr. Layers that the repository has are not fetched.
Result<ostree::ImportReport> import_os_image(ostree::RepositoryWriter& writer, const oci::ImageSource& source,
                                             oci::BlobCache* cache, const FetchedImage& image,
                                             const ostree::ImportOptions& options, const runtime::Call& call);

}  // namespace strake::osimage
