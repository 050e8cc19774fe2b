// Rendering one pool, as a pure function: selection, gates, merge, name, metadata.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/object.h"
#include "machineconfig/impact/crio_runtime.h"
#include "machineconfig/merge/merge.h"
#include "machineconfig/render/rendered_size.h"

namespace strake::machineconfig {

/// Shared objects, never copied: a cluster's MachineConfigs are tens of megabytes.
struct RenderInput {
  kube::ObjectPtr pool;
  kube::ObjectPtr worker_pool{};              ///< custom pools inherit its OS image stream; may be absent
  std::vector<kube::ObjectPtr> configs{};     ///< every MachineConfig; the pool's selector chooses
  kube::ObjectPtr controller_config{};        ///< may be absent
  kube::ObjectPtr os_image_stream{};          ///< may be absent
  std::vector<kube::ObjectPtr> generators{};  ///< every KubeletConfig and ContainerRuntimeConfig; for the gates
  bool generators_processed = false;          ///< somebody turns them into MachineConfigs; see GateInput
  std::optional<std::string> version{};       ///< of this program; for the gates, see GateInput
  std::optional<std::size_t> size_limit = kMaxRenderedBytes;  ///< nullopt: as large as it gets
};

struct RenderPlan {
  kube::Object rendered;
  std::vector<std::string> sources;  ///< names of the merged MachineConfigs, in merge order
  OsImages defaults;                 ///< the images before a MachineConfig had its say
  bool os_image_overridden = false;
  std::size_t size_bytes = 0;  ///< as the size limit counts, see kLargeRenderedBytes; 0 without a limit
  /// What CRI-O is made to use. It is checked against the OS stream of `defaults`; who can read the labels of an image
  /// that overrides those checks again (check_runtime_exists).
  std::optional<RuntimeChoice> runtime;
  /// KubeletConfigs and the like that were meant for the pool and are not in it; see ignored_generators.
  std::vector<std::string> ignored;
};

/// The rendered config of a pool whose gates are open; see render_gates.h for the error when one is not.
Result<RenderPlan> plan_render(const RenderInput& input);

/// The same whatever the gates say: for questions about configs that are not in a cluster.
Result<RenderPlan> render_pool(const RenderInput& input);

/// The images a pool's machines run unless a MachineConfig says otherwise: of its OS stream, else of the
/// ControllerConfig.
Result<OsImages> default_images(const RenderInput& input);

/// Selected MachineConfigs, each read and checked; the first error is returned.
Result<std::vector<Fragment>> read_fragments(const std::vector<kube::ObjectPtr>& selected);

}  // namespace strake::machineconfig
