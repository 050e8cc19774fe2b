// What the verbs about MachineConfigs share: which configs, which pools, which OS images.
#pragma once

#include <string>
#include <vector>

#include "cmd/cli/command.h"
#include "cmd/input/config_input.h"
#include "machineconfig/generate/generate_set.h"
#include "machineconfig/render/render_set.h"

namespace strake::cmd {

inline constexpr OptionSpec kOsImageOption{"os-image", "REF",
                                           "OS image where neither ControllerConfig nor OSImageStream names one"};
inline constexpr OptionSpec kExtensionsImageOption{"extensions-image", "REF", "extensions image, likewise"};
inline constexpr OptionSpec kReleaseOption{
    "release", "REF", "take both images from this release (registry, layout or archive), likewise"};

inline constexpr OptionSpec kGeneratedOption{
    "generated", "",
    "with the MachineConfigs that Strake makes of KubeletConfigs, ContainerRuntimeConfigs, mirror sets, image policies "
    "and the Image config"};

/// -f, or the cluster of the kubeconfig, of which no lines are known.
Result<ConfigFiles> read_config_input(const Invocation& invocation);
/// The same without the lines.
Result<machineconfig::ConfigSet> read_config_set(const Invocation& invocation);

/// "site.yaml:12: ...": the error of a render with the place of the field it is about, where that is a field of a
/// MachineConfig from these files.
Error with_place(Error failure, const std::vector<kube::ObjectPtr>& configs, const SourceLines& sources);

/// For what was made of these files.
template <typename T>
Result<T> placed(Result<T> made, const ConfigFiles& files) {
  if (made.ok()) return made;
  return with_place(std::move(made).error(), files.set.configs, files.sources);
}

/// --os-image, --extensions-image and --release, where the set names no images; warns when there are none at all.
Result<machineconfig::ConfigSet> with_image_options(machineconfig::ConfigSet set, const Invocation& invocation);

/// With --generated the set with what Strake makes of its KubeletConfigs and their like, else as it is; then a warning
/// names what it lacks or would not stay as it is. A source that is refused is an error.
Result<machineconfig::ConfigSet> with_generated_option(machineconfig::ConfigSet set, const Invocation& invocation);
/// The same with --generated; else as it is. Who refuses a source tells its warning or finding.
machineconfig::GeneratedSet made_if_asked(machineconfig::ConfigSet set, const Invocation& invocation);

/// All pools of the set, or the one named; kNotFound lists those there are.
Result<std::vector<kube::ObjectPtr>> chosen_pools(const machineconfig::ConfigSet& set, const std::string& only);

}  // namespace strake::cmd
