// Derived layers: what a Containerfile puts on top of an ostree-native image, merged into the commit's tree the way
// the ostree importer deploys it (ostree/import/derived_paths.h). A folder that exists below keeps its own mode and
// owner.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "oci/layer_index.h"
#include "osimage/os_tree.h"

namespace strake::osimage {

struct MergeRules {
  /// The OS has a root of its own making (composefs, transient root): new folders at the top are kept.
  bool any_toplevel = false;
};

struct MergeReport {
  /// What was dropped, by name at the top (or below /run, /tmp, ... by their second), and how many entries.
  std::map<std::string, std::size_t> dropped;
};

/// True when the answer depends on MergeRules::any_toplevel.
bool has_other_toplevels(const oci::LayerIndex& layer);

/// `number` is the layer's in the image. kCorrupt names a hard link that leads nowhere.
Status merge_layer(OsTree& tree, const oci::LayerIndex& layer, std::size_t number, const MergeRules& rules,
                   MergeReport& report);

/// After the last layer: removes what build tools inject, and checksums of folders that no longer hold.
void finish_merge(OsTree& tree);

}  // namespace strake::osimage
