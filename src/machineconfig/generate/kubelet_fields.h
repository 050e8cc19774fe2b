// What a kubelet would refuse at its start: types and ranges of the settings people change. A kubelet that does not
// start takes its node away, so these are refused before a node sees them.
#pragma once

#include "base/result.h"
#include "codec/json.h"

namespace strake::machineconfig {

/// Settings of a KubeletConfiguration; those not known here are left to the kubelet. Errors name the field.
Status check_kubelet_fields(const json::Object& settings);

}  // namespace strake::machineconfig
