// What the verbs about MachineConfigs share: which configs, which pools, which OS images.
#pragma once

#include <string>
#include <vector>

#include "cmd/cli/command.h"
#include "cmd/input/config_input.h"
#include "machineconfig/render/render_set.h"

namespace strake::cmd {

inline constexpr OptionSpec kOsImageOption{"os-image", "REF",
                                           "OS image where neither ControllerConfig nor OSImageStream names one"};
inline constexpr OptionSpec kExtensionsImageOption{"extensions-image", "REF", "extensions image, likewise"};
inline constexpr OptionSpec kReleaseOption{
    "release", "REF", "take both images from this release (registry, layout or archive), likewise"};

/// -f, or the cluster of the kubeconfig, of which no lines are known.
Result<ConfigFiles> read_config_input(const Invocation& invocation);
/// The same without the lines.
Result<machineconfig::ConfigSet> read_config_set(const Invocation& invocation);

/// --os-image, --extensions-image and --release, where the set names no images; warns when there are none at all.
Result<machineconfig::ConfigSet> with_image_options(machineconfig::ConfigSet set, const Invocation& invocation);

/// All pools of the set, or the one named; kNotFound lists those there are.
Result<std::vector<kube::ObjectPtr>> chosen_pools(const machineconfig::ConfigSet& set, const std::string& only);

}  // namespace strake::cmd
