// A derived layer as an ostree commit of its own: a plain tar whose files become objects and whose names become a tree,
// markers included, for FolderTree::merge() to put on top of the layers below.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "codec/stream.h"
#include "ostree/owner_mapping.h"
#include "ostree/repository_writer.h"

namespace strake::ostree {

inline constexpr std::size_t kMaxDerivedEntries = 1'000'000;
/// Of names, link targets and extended attributes of one layer.
inline constexpr std::uint64_t kMaxDerivedNameBytes = 256u << 20;

struct DerivedLayerRules {
  bool any_toplevel = false;  ///< see derived_paths.h
  std::optional<OwnerMapping> owner{};
};

struct DerivedLayer {
  Checksum contents;
  Checksum meta;  ///< of the root
  /// What has no place in an OS, by name, and how many entries.
  std::map<std::string, std::size_t> dropped;
};

/// Reads the archive to its end and not beyond; content goes straight into the repository. kCorrupt: a hard link to
/// nothing in the layer, a path through a file or link, `..`. kUnsupported: a device or fifo.
Result<DerivedLayer> read_derived_layer(codec::Source& tar, const DerivedLayerRules& rules, RepositoryWriter& writer);

}  // namespace strake::ostree
