// FolderTree: a file tree of ostree objects that is changed in memory and written as objects again. Folders are read
// when something below them changes, and only those are written: merging a small layer into an OS of ten thousand files
// touches a few of them.
//
// It knows names and checksums, no disk: a link in it leads nowhere, so nothing merged here can escape the tree.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ostree/objects.h"
#include "ostree/repository_writer.h"
#include "ostree/tree.h"

namespace strake::ostree {

class FolderTree {
 public:
  /// An empty tree. `meta`: the dirmeta object of its root, and of folders nobody described.
  FolderTree(const MetadataSource& source, const Checksum& meta);
  /// That of a commit.
  FolderTree(const MetadataSource& source, const Checksum& contents, const Checksum& meta);

  const Checksum& meta() const { return root_.meta; }
  void set_meta(const Checksum& meta) { root_.meta = meta; }

  /// By clean paths. What is missing of their folders is made; kCorrupt when one of those is a file, or the path itself
  /// a file here and a folder there.
  Status put_file(std::string_view path, const Checksum& checksum);
  Status put_folder(std::string_view path, const Checksum& meta);
  /// nullopt: no file has this name.
  Result<std::optional<Checksum>> find_file(std::string_view path);
  Status remove_file(std::string_view path);

  /// Puts the tree of a layer's commit on top. In each folder whiteouts come first and speak about what lies below,
  /// then files, then folders. A folder that exists keeps its metadata; one that is new, whited out or opaque takes the
  /// layer's. A file or link gives way to a folder of its name, and the other way round.
  Status merge(const Checksum& layer_contents);

  /// Everything that changed, as objects; answers the root's.
  Result<Checksum> write(RepositoryWriter& writer);

 private:
  struct Folder {
    Checksum meta;
    std::optional<Checksum> contents;  ///< nullopt: changed since
    bool loaded = false;
    std::map<std::string, Checksum, std::less<>> files{};
    std::map<std::string, std::unique_ptr<Folder>, std::less<>> folders{};
  };

  Status load(Folder& folder) const;
  /// The folder of a path, made when missing; the name alone stays in `path`.
  Result<Folder*> parent_of(std::string_view& path, bool make);
  Status merge_into(Folder& folder, const Checksum& layer_contents, std::size_t depth);
  static Result<Checksum> write_folder(Folder& folder, RepositoryWriter& writer);

  const MetadataSource& source_;
  Checksum default_meta_;
  Folder root_;
  std::size_t merged_entries_ = 0;
};

}  // namespace strake::ostree
