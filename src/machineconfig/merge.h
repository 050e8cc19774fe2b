// MachineConfigs of a pool, in order, merged into one spec.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/object.h"

namespace strake::machineconfig {

struct OsImages {
  std::string os_image;
  std::string extensions_image;
};

/// MachineConfigs whose role is `worker` first, then all others; each group by name, bytewise. So what a custom pool
/// adds always wins over what it inherits.
void sort_for_merge(std::vector<kube::ObjectPtr>& configs);

/// Checks one MachineConfig alone; errors name the object and the field.
Status validate(const kube::Object& config);

/// The seven spec fields of the rendered config. `configs` are already in merge order; `defaults` are the release's
/// images.
Result<json::Value> merge_specs(const std::vector<kube::ObjectPtr>& configs, const OsImages& defaults);

}  // namespace strake::machineconfig
