// MachineConfigs of a pool, in order, merged into one spec.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "machineconfig/validate.h"

namespace strake::machineconfig {

/// The OS of a cluster before a MachineConfig says otherwise.
struct OsImages {
  std::string os_image;
  std::string extensions_image;
  std::string stream = {};  ///< the OS stream they are of; "" when no OSImageStream applies
  std::string source = {};  ///< who names them: "OSImageStream cluster", "ControllerConfig machine-config-controller"
};

/// The seven spec fields of the rendered config, in the order of the API. `fragments` are in merge order and are taken
/// apart. An error names the MachineConfigs that do not go together.
Result<json::Value> merge_specs(std::vector<Fragment> fragments, const OsImages& defaults);

}  // namespace strake::machineconfig
