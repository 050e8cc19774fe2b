// MachineConfigPool: nodes that run the same merged configuration and are updated together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/field.h"
#include "base/result.h"

namespace strake::api {

inline constexpr FieldTable kMachineConfigPoolFields{
    "machineconfigpools.machineconfiguration.openshift.io",
    "spec.machineConfigSelector",
    "spec.nodeSelector",
    "spec.paused",
    "spec.maxUnavailable",
    "spec.configuration",
    "spec.configuration.name",
    "spec.configuration.source",
    "spec.configuration.source[].apiVersion",
    "spec.configuration.source[].kind",
    "spec.configuration.source[].name",
    "spec.osImageStream.name",
    "status.observedGeneration",
    "status.configuration",
    "status.configuration.name",
    "status.configuration.source",
    "status.configuration.source[].name",
    "status.machineCount",
    "status.updatedMachineCount",
    "status.readyMachineCount",
    "status.unavailableMachineCount",
    "status.degradedMachineCount",
    "status.conditions[].type",
    "status.conditions[].status",
    "status.conditions[].reason",
    "status.conditions[].message",
    "status.conditions[].lastTransitionTime",
};

namespace pool_condition {
inline constexpr std::string_view kUpdated = "Updated";
inline constexpr std::string_view kUpdating = "Updating";
inline constexpr std::string_view kDegraded = "Degraded";
inline constexpr std::string_view kNodeDegraded = "NodeDegraded";
inline constexpr std::string_view kRenderDegraded = "RenderDegraded";
/// Reasons of RenderDegraded. Not an error by itself: what a render reads is still being written.
inline constexpr std::string_view kReasonGateClosed = "GateClosed";
/// No error: the config is rendered without something that nothing processes.
inline constexpr std::string_view kReasonConfigsIgnored = "ConfigsIgnored";
inline constexpr std::string_view kImageBuildDegraded = "ImageBuildDegraded";
inline constexpr std::string_view kPinnedImageSetsDegraded = "PinnedImageSetsDegraded";
}  // namespace pool_condition

/// Pools every cluster knows; all others are custom.
inline constexpr std::string_view kMasterPool = "master";
inline constexpr std::string_view kWorkerPool = "worker";
inline constexpr std::string_view kArbiterPool = "arbiter";

struct PoolCounts {
  std::int64_t machines = 0;
  std::int64_t updated = 0;
  std::int64_t ready = 0;
  std::int64_t unavailable = 0;
  std::int64_t degraded = 0;

  bool operator==(const PoolCounts&) const = default;
};

/// Reads an object that outlives the view.
class MachineConfigPoolView {
 public:
  explicit MachineConfigPoolView(const json::Value& object) : object_(object) {}
  explicit MachineConfigPoolView(const json::Value&&) = delete;

  std::string name() const { return json::find_string(object_, {"metadata", "name"}).value_or(""); }
  /// LabelSelectors as written, or nullptr. An absent or empty one matches nothing.
  const json::Value* machine_config_selector() const {
    return find_field(object_, kMachineConfigPoolFields["spec.machineConfigSelector"]);
  }
  const json::Value* node_selector() const {
    return find_field(object_, kMachineConfigPoolFields["spec.nodeSelector"]);
  }
  bool paused() const { return flag_at(object_, kMachineConfigPoolFields["spec.paused"]); }
  /// How many of `node_count` nodes may be unavailable (see max_unavailable.h); always 1 for the arbiter pool.
  Result<int> max_unavailable(int node_count) const;

  /// The rendered MachineConfig the pool's nodes are to run, "" before the first render.
  std::string target() const { return text_at(object_, kMachineConfigPoolFields["spec.configuration.name"]); }
  /// Names of the MachineConfigs merged into the target, in merge order.
  std::vector<std::string> target_sources() const;
  /// The last rendered MachineConfig that every node has reached.
  std::string reached() const { return text_at(object_, kMachineConfigPoolFields["status.configuration.name"]); }
  std::vector<std::string> reached_sources() const;

  std::string os_image_stream() const { return text_at(object_, kMachineConfigPoolFields["spec.osImageStream.name"]); }
  std::int64_t observed_generation() const {
    return int_at(object_, kMachineConfigPoolFields["status.observedGeneration"]);
  }
  PoolCounts counts() const;

 private:
  const json::Value& object_;
};

/// Writes in place; everything else of the object stays as it is. Conditions: conditions.h.
class MachineConfigPoolEdit : public MachineConfigPoolView {
 public:
  explicit MachineConfigPoolEdit(json::Value& object) : MachineConfigPoolView(object), object_(object) {}

  void set_machine_config_selector(json::Value selector);
  void set_node_selector(json::Value selector);
  void set_paused(bool paused);
  void set_target(std::string_view rendered, std::span<const std::string> sources);
  /// status.configuration becomes spec.configuration: every node has reached the target.
  void mark_target_reached();
  void set_observed_generation(std::int64_t generation);
  void set_counts(const PoolCounts& counts);

 private:
  json::Value& object_;
};

}  // namespace strake::api
