// Whether a generated MachineConfig that somebody else wrote says what Strake's would: member by member of its files,
// not byte by byte. Programs write the same settings in many ways.
#pragma once

#include <string>
#include <vector>

#include "kube/object.h"

namespace strake::machineconfig {

/// What `wanted` sets in its files and `held` has not, or has otherwise: "/etc/kubernetes/kubelet.conf: maxPods
/// podsPerCore", one for each file. What `held` has besides does not count, except in lists. No values: they may be
/// anybody's.
std::vector<std::string> lacking_members(const kube::Object& held, const kube::Object& wanted);

}  // namespace strake::machineconfig
