// ContainerRuntimeConfig: what it makes of storage.conf and CRI-O's drop-ins.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "kube/object.h"
#include "machineconfig/generate/generated_config.h"

namespace strake::machineconfig {

inline constexpr std::string_view kStorageConfPath = "/etc/containers/storage.conf";

/// `base_storage`: storage.conf of the base configs; "" for a small one. Errors name the field.
Result<std::vector<GeneratedFile>> generate_runtime_config(const kube::Object& config, const std::string& base_storage);

}  // namespace strake::machineconfig
