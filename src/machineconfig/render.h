// Rendering one pool, as a pure function: gates, selection, merge, name, metadata.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/object.h"

namespace strake::machineconfig {

struct RenderInput {
  kube::Object pool;
  std::optional<kube::Object> worker_pool;  ///< custom pools inherit its OS image stream
  std::vector<kube::Object> configs;        ///< every MachineConfig; the pool's selector chooses
  std::optional<kube::Object> controller_config;
  std::optional<kube::Object> os_image_stream;
  std::string version;  ///< of this program; what it generated earlier must carry the same
};

struct RenderPlan {
  kube::Object rendered;
  std::vector<std::string> sources;  ///< names of the merged MachineConfigs, in merge order
  bool os_image_overridden = false;
};

/// Objects larger than this are refused by API servers.
inline constexpr std::size_t kMaxRenderedBytes = 1572864;

/// kUnavailable with reason "GateClosed" while something the render depends on is still being written: try again on its
/// next change.
Result<RenderPlan> plan_render(const RenderInput& input);

/// The MachineConfigs a pool's selector chooses, in merge order. An absent or empty selector chooses nothing; `{}` is
/// an error.
Result<std::vector<kube::Object>> select_configs(const kube::Object& pool, const std::vector<kube::Object>& configs);

}  // namespace strake::machineconfig
