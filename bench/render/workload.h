// The MachineConfigs that are rendered, and the two ways to render them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "machineconfig/render/render.h"

namespace strake::bench {

struct Shape {
  int configs = 0;
  int files_each = 0;
  bool overlapping = false;  ///< all MachineConfigs write the same files, instead of each its own

  std::string to_string() const;  ///< "100x10 overlapping"
};

/// Files of 1 KiB, half of them percent-encoded as the operator's templates write them, half in base64.
std::vector<kube::ObjectPtr> make_configs(const Shape& shape);

/// A pool that takes all of them; no size limit.
machineconfig::RenderInput render_input(std::vector<kube::ObjectPtr> configs);

/// One YAML file a MachineConfig.
Status write_files(const std::vector<kube::ObjectPtr>& configs, const std::filesystem::path& folder);
Result<std::vector<kube::ObjectPtr>> read_files(const std::filesystem::path& folder);

}  // namespace strake::bench
