// The sample releases as payloads, read once from layouts in a temporary folder: the simulation itself touches no disk.
#pragma once

#include "release/payload.h"
#include "release/sample.h"

namespace strake::simulation {

release::ReleasePayload sample_payload(release::SampleRelease sample);

}  // namespace strake::simulation
