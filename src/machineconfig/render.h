// Rendering one pool, as a pure function: selection, gates, merge, name, metadata.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/object.h"

namespace strake::machineconfig {

/// Shared objects, never copied: a cluster's MachineConfigs are tens of megabytes.
struct RenderInput {
  kube::ObjectPtr pool;
  kube::ObjectPtr worker_pool{};              ///< custom pools inherit its OS image stream; may be absent
  std::vector<kube::ObjectPtr> configs{};     ///< every MachineConfig; the pool's selector chooses
  kube::ObjectPtr controller_config{};        ///< may be absent
  kube::ObjectPtr os_image_stream{};          ///< may be absent
  std::vector<kube::ObjectPtr> generators{};  ///< every KubeletConfig and ContainerRuntimeConfig; for the gates
  std::optional<std::string> version{};       ///< of this program; for the gates, see GateInput
};

struct RenderPlan {
  kube::Object rendered;
  std::vector<std::string> sources;  ///< names of the merged MachineConfigs, in merge order
  bool os_image_overridden = false;
};

/// Objects larger than this are refused by API servers.
inline constexpr std::size_t kMaxRenderedBytes = 1572864;

/// The rendered config of a pool whose gates are open; see render_gates.h for the error when one is not.
Result<RenderPlan> plan_render(const RenderInput& input);

/// The same whatever the gates say: for questions about configs that are not in a cluster.
Result<RenderPlan> render_pool(const RenderInput& input);

/// The MachineConfigs a pool's selector chooses, in merge order. An absent or empty selector chooses nothing; `{}` is
/// an error.
Result<std::vector<kube::ObjectPtr>> select_configs(const kube::Object& pool,
                                                    const std::vector<kube::ObjectPtr>& configs);

}  // namespace strake::machineconfig
