// For which architectures a release image is built.
#pragma once

#include <vector>

#include "release/release_place.h"

namespace strake::release {

/// In the order of the index, each once; of an image for one architecture that one.
Result<std::vector<oci::Platform>> release_platforms(const ReleasePlace& place, const runtime::Call& call);

}  // namespace strake::release
