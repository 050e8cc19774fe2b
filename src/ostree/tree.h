// The file tree of a commit, from its metadata objects alone: names and checksums, owners and modes of folders. What a
// file is besides its name stands in the file's own object.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "ostree/objects.h"

namespace strake::ostree {

/// Where metadata objects come from.
class MetadataSource {
 public:
  virtual ~MetadataSource() = default;
  /// The bytes as stored; kNotFound when there is no such object. Not believed before their checksum was computed:
  /// read_metadata() does.
  virtual Result<std::string> load_metadata(ObjectType type, const Checksum& checksum) const = 0;
};

/// The object, its checksum computed and compared.
Result<std::string> read_metadata(const MetadataSource& source, ObjectType type, const Checksum& checksum);
Result<Commit> read_commit(const MetadataSource& source, const Checksum& checksum);

struct TreeLimits {
  std::size_t max_entries = 1'000'000;  ///< a folder may be shared, and so a small repository mean an endless tree
  std::size_t max_depth = 256;
  std::size_t max_path_bytes = 4096;
};

struct TreeEntry {
  std::string path;     ///< "usr/bin/bash"; the root is ""
  Checksum checksum;    ///< of a folder: of its list of entries
  const DirMeta* meta;  ///< of a folder; nullptr: a file or a symbolic link
  const Checksum* meta_checksum;
};
using TreeVisitor = std::function<Status(const TreeEntry&)>;

/// Visits the root, then every entry: of each folder the files by name, then the folders by name, each followed by
/// what is in it. That is the order `ostree ls -R` prints.
Status walk_tree(const MetadataSource& source, const Commit& commit, const TreeVisitor& visit,
                 const TreeLimits& limits = {});

}  // namespace strake::ostree
