// The first boot of a sandboxed machine: its stub leads it to the config server, and what that hands out is written to
// its disk, as Ignition does it on a real one.
#pragma once

#include <string>
#include <string_view>

#include "base/file_tree.h"
#include "base/runtime.h"
#include "codec/json.h"
#include "ignition/version.h"
#include "kube/kube_api.h"

namespace strake::controlplane {

struct FirstConfig {
  std::string url;   ///< where it came from
  std::string name;  ///< of the rendered MachineConfig; "" when the config does not say
  ignition::SpecVersion version;
  std::size_t bytes = 0;
  json::Value config;
};

/// A sandboxed machine that got its first config.
struct FirstFetch {
  std::string node;
  std::string pool;
  std::string config;  ///< name of the rendered MachineConfig
  std::string url;
  std::string ignition;  ///< the version it asked for
  std::size_t bytes = 0;
};

/// What a machine born with this stub gets: asked for as Ignition asks, trusting nobody but the stub's authorities,
/// with the header fields it names. kUnavailable: no answer yet, or one without a config; ask again later.
Result<FirstConfig> fetch_first_config(std::string_view stub, runtime::Runtime& runtime, const runtime::Call& call);

/// The stub Strake keeps for a pool. kUnavailable until it is written.
Result<std::string> read_managed_stub(kube::KubeApi& api, const std::string& pool, const runtime::Call& call);

/// Files, folders above them, links and units. What only a real machine has (users, disks) is left out.
Status write_first_config(FileTree& tree, const json::Value& config);

}  // namespace strake::controlplane
