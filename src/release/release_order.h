// Which release may follow which: forward always, back only when the user says so, and never to before the release the
// cluster was installed with. Pure.
#pragma once

#include <string>

#include "kube/object.h"

namespace strake::release {

/// What the cluster says about the past; each is empty where nobody wrote it down.
struct ReleaseHistory {
  std::string present;    ///< the version published last
  std::string installed;  ///< the first one
};

/// From ControllerConfig and, on OpenShift, ClusterVersion; nullptr: there is none. Where no installed version was
/// recorded, the oldest one known counts.
ReleaseHistory release_history(const kube::Object* controller_config, const kube::Object* cluster_version);

/// kDenied ("blocked") says what would have to be given. Versions that cannot be compared count as a step back.
Status check_release_order(const ReleaseHistory& history, const std::string& version, bool allow_downgrade);

}  // namespace strake::release
