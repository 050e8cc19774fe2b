// Lines and JSON for the files of an OS: as `ls` people know it, and exactly as `ostree ls` prints.
#pragma once

#include <string>
#include <string_view>

#include "codec/json.h"
#include "osimage/os_tree.h"

namespace strake::osimage {

/// "-rwsr-xr-x"
std::string mode_text(const OsNode& node);

/// "-rw-r--r--     0     0         12 /usr/lib/os-release"; the node's details must be loaded.
std::string long_line(std::string_view path, const OsNode& node);

struct OstreeColumns {
  bool checksum = false;
  bool xattrs = false;
};
/// A line of `ostree ls`, without its end; the node's details must be loaded.
std::string ostree_line(std::string_view path, const OsNode& node, const OstreeColumns& columns);

/// With details as far as they are known.
json::Object node_json(std::string_view path, const OsNode& node);

}  // namespace strake::osimage
