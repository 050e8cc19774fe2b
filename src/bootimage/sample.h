// Two AWS machine sets for demonstrations and tests: one that boots what `stream` publishes, one that an upgrade left
// behind.
#pragma once

#include <vector>

#include "kube/object.h"
#include "stream/metadata.h"

namespace strake::bootimage {

/// `sample-us-east-1a` (x86_64, current) and `sample-eu-west-1b` (aarch64, behind), in openshift-machine-api. The
/// stream must publish an AMI for both.
Result<std::vector<kube::Object>> sample_machine_sets(const stream::Stream& stream);

}  // namespace strake::bootimage
