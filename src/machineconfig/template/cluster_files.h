// Files every machine gets because the cluster has them: the pull secret, authorities to trust, the proxy.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "kube/object.h"

namespace strake::machineconfig {

struct ClusterFile {
  std::string path;
  std::string contents;
  int mode = 0644;
};

/// Of spec.proxy, spec.additionalTrustBundle and the pull secret (nullptr: none). Errors name object and field, and
/// quote no contents.
Result<std::vector<ClusterFile>> cluster_files(const kube::Object& controller_config, const kube::Object* pull_secret);

}  // namespace strake::machineconfig
