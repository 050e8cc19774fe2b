// What differs between two sets of objects besides the configs rendered from them: pools that come and go, what is set
// about them, policies, and objects the platform makes MachineConfigs of. Each with what it does to nodes.
#pragma once

#include <string>
#include <vector>

#include "codec/json.h"
#include "machineconfig/render/render_set.h"

namespace strake::machineconfig {

struct SetChange {
  std::string subject;      ///< "pool infra", "KubeletConfig max-pods"
  std::string change;       ///< "added", "paused: false -> true"
  std::string consequence;  ///< what it does to nodes, now or later
  bool may_reboot = false;  ///< nodes may be drained and rebooted because of it
};

/// Whether the sets hold the MachineConfigs that are made of other objects (with_generated); else only the objects.
enum class GeneratedConfigs { kNotShown, kShown };

/// In the order pools, policies, what the platform makes MachineConfigs of; each by name.
std::vector<SetChange> diff_sets(const ConfigSet& before, const ConfigSet& after,
                                 GeneratedConfigs generated = GeneratedConfigs::kNotShown);

/// A MachineConfig that no pool of the set takes: no node gets it.
struct UnusedConfig {
  std::string name;
  std::string role;  ///< "" without the label
};
/// By name. A pool whose selector cannot be read takes none; whoever renders it says so.
std::vector<UnusedConfig> unused_configs(const ConfigSet& set);

/// {subject, change, consequence} each.
json::Array to_json(const std::vector<SetChange>& changes);
/// For people: two lines each.
std::string to_text(const std::vector<SetChange>& changes);

}  // namespace strake::machineconfig
