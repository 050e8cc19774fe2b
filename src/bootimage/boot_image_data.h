// The boot image metadata a cluster holds: ConfigMap coreos-bootimages.
#pragma once

#include "kube/kube_api.h"
#include "stream/import.h"

namespace strake::bootimage {

/// Absent data is an error that blocks (exit code 3) and says how to get some.
Result<stream::StreamSet> read_cluster_streams(kube::KubeApi& api, const kube::Call& call);

/// The default stream alone.
Result<stream::Stream> read_cluster_stream(kube::KubeApi& api, const kube::Call& call);

}  // namespace strake::bootimage
