// The sigstore signatures that lie beside an image, fetched and checked.
#pragma once

#include <span>
#include <string>

#include "oci/sigstore.h"
#include "release/release_place.h"

namespace strake::release {

/// One good signature by one of the keys is enough. `name`: what the image is used under; the digest decides where it
/// has one. kDenied lists what is wrong with each; there being none at all is kDenied too.
Result<oci::SigstoreStatement> check_sigstore(const PlacedImage& image, const std::string& name,
                                              std::span<const oci::SigstoreKey> keys, oci::SigstoreIdentity identity,
                                              const runtime::Call& call);

}  // namespace strake::release
