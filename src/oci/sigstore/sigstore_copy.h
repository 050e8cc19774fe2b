// The sigstore signatures attached to an image, brought along when it is copied.
#pragma once

#include "oci/image_target.h"

namespace strake::oci {

/// Those under the tag of signatures, and those that are referrers of the image. False when there are none.
Result<bool> copy_sigstore_signatures(const ImageSource& from, const codec::Digest& image, ImageTarget& to,
                                      runtime::Runtime& runtime, const runtime::Call& call);

}  // namespace strake::oci
