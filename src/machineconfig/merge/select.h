// Which MachineConfigs a pool takes, and in which order they are merged.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "kube/object.h"

namespace strake::machineconfig {

/// MachineConfigs whose role is `worker` first, then all others; each group by name, bytewise. So what a custom pool
/// adds always wins over what it inherits.
void sort_for_merge(std::vector<kube::ObjectPtr>& configs);

/// The MachineConfigs a pool's selector chooses, in merge order. An absent selector chooses nothing, and nothing chosen
/// is kNotFound; `{}`, which would choose all, is an error. So is a chosen MachineConfig without labels: nobody knows
/// where it belongs in the order.
Result<std::vector<kube::ObjectPtr>> select_configs(const kube::Object& pool,
                                                    const std::vector<kube::ObjectPtr>& configs);

/// The OS image stream a pool chooses: its own, else a custom pool's worker pool's; "" leaves it to the cluster.
/// `worker_pool` may be null.
std::string effective_os_image_stream(const kube::Object& pool, const kube::Object* worker_pool);

}  // namespace strake::machineconfig
