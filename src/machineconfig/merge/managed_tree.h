// The files a rendered config puts on a node: its files, units, drop-ins, masks and enabled units, as one map by path.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/file_tree.h"
#include "base/result.h"
#include "codec/json.h"

namespace strake::machineconfig {

struct ManagedEntry {
  enum class Kind { kFile, kLink };
  Kind kind = Kind::kFile;
  std::string contents;  ///< of the file, or the link's target
  std::uint32_t mode = 0644;
  FileOwner owner;
};

using ManagedTree = std::map<std::string, ManagedEntry>;

/// Units live in /etc/systemd/system; a masked unit is a link to /dev/null; an enabled one is linked from the targets
/// its [Install] section names, which is what `systemctl enable` would do.
Result<ManagedTree> managed_tree(const json::Value& spec);

}  // namespace strake::machineconfig
