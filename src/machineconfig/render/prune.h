// Which rendered MachineConfigs nobody uses any more.
//
// Every change of a pool leaves a rendered config behind, and nothing on the platform removes them: a cluster collects
// thousands. The newest few of each pool are kept whatever refers to them, because going back to one is then a matter
// of pointing the pool at it.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "kube/object.h"

namespace strake::machineconfig {

inline constexpr std::size_t kRenderedConfigsKept = 10;

/// Everything that can name a rendered config; all of it read after the rendered configs themselves, so that a
/// reference made in between is seen.
struct RenderedUsers {
  std::vector<kube::Object> pools;
  std::vector<kube::Object> nodes;
  std::vector<kube::Object> machine_config_nodes;
  std::vector<kube::Object> os_builds;
};

std::set<std::string> rendered_configs_in_use(const RenderedUsers& users);

/// The rendered configs of one pool: generated, named rendered-*, owned by it. Oldest first.
std::vector<const kube::Object*> rendered_configs_of(const kube::Object& pool,
                                                     const std::vector<kube::ObjectPtr>& configs);

/// The configs of one pool to delete, oldest first: not among the newest `keep`, and not in use.
std::vector<const kube::Object*> plan_prune(const kube::Object& pool, const std::vector<kube::ObjectPtr>& configs,
                                            const std::set<std::string>& in_use,
                                            std::size_t keep = kRenderedConfigsKept);

}  // namespace strake::machineconfig
