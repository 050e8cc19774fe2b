// MachineConfigs and what belongs to them, from files, directories, standard input, or a cluster.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/runtime.h"
#include "cmd/cli/command.h"
#include "cmd/input/source_lines.h"
#include "kube/kube_api.h"
#include "machineconfig/render/render_set.h"

namespace strake::cmd {

inline constexpr OptionSpec kFilesOption{
    "f,filename", "PATH",
    "MachineConfigs, Butane configs and pools from a directory (its *.yaml, *.yml, *.json "
    "and *.bu), a "
    "file, or - for standard input, instead "
    "of a cluster",
    "", kFileValue};

/// A file, a directory or "-" as objects; which file and line each came from.
struct ConfigFiles {
  machineconfig::ConfigSet set;
  SourceLines sources;             ///< which file and line each came from
  std::vector<std::string> notes;  ///< documents that were passed over, and why
};

inline constexpr OptionSpec kRecursiveOption{"R,recursive", "", "the folders in a directory too, hidden ones left out"};

/// How a place is read.
struct ConfigInputOptions {
  bool may_be_empty = false;  ///< a directory without manifests is a set without objects
  bool recursive = false;
  bool last_of_duplicate_keys_counts = false;  ///< and a note says so; else a key that is there twice is an error
  std::string files_dir = {};                  ///< of what Butane configs name as local
};

/// Butane configs are translated. Documents of other kinds are passed over, with a note; two objects of the same kind
/// and name are an error, and so is a document that cannot be read. Errors name file and line.
Result<ConfigFiles> read_config_files(const std::string& path, const ConfigInputOptions& options = {});

/// Everything a render of the cluster's pools reads.
Result<machineconfig::ConfigSet> read_config_cluster(kube::KubeApi& api, const kube::Call& call);

/// What else the platform makes MachineConfigs and OS images of, added to the set. What may not be read is left out.
Status read_platform_settings(kube::KubeApi& api, machineconfig::ConfigSet& set, const kube::Call& call);

}  // namespace strake::cmd
