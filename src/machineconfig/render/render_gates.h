// What must hold before a pool is rendered. Everything a render reads is written by several hands, one after the other;
// a gate that is closed says that one of them has not finished, so that no mixture of two states reaches a node.
//
// Each gate applies only where its object exists: without a ControllerConfig there is nothing to wait for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/machine_config_pool.h"
#include "base/result.h"
#include "kube/object.h"

namespace strake::machineconfig {

/// Error::reason() of a closed gate; the code is kUnavailable. Try again on the next change.
inline constexpr std::string_view kGateClosedReason = api::pool_condition::kReasonGateClosed;

struct GateInput {
  const kube::Object* pool = nullptr;
  const kube::Object* controller_config = nullptr;  ///< may be absent
  const kube::Object* os_image_stream = nullptr;    ///< may be absent
  std::vector<const kube::Object*> selected{};      ///< the pool's MachineConfigs
  std::vector<const kube::Object*> configs{};       ///< every MachineConfig
  std::vector<const kube::Object*> generators{};    ///< every KubeletConfig and ContainerRuntimeConfig
  /// Somebody turns these into MachineConfigs, so that it pays to wait for them: another manager, or our own generator
  /// controller. Where nobody does, a gate that waits would stay closed for ever.
  bool generators_processed = false;
  /// Of this program: what a release published must carry the same. Unset when another manager publishes; then its
  /// version is its own affair.
  std::optional<std::string> version{};
};

Status check_render_gates(const GateInput& input);

/// Generators of this pool whose MachineConfigs nobody has made, where nobody is waited for: each a sentence that says
/// so and what to do.
std::vector<std::string> ignored_generators(const GateInput& input);

}  // namespace strake::machineconfig
