#include "ostree/tree.h"

#include <map>

namespace strake::ostree {

namespace {

class TreeWalk {
 public:
  TreeWalk(const MetadataSource& source, const TreeVisitor& visit, const TreeLimits& limits)
      : source_(source), visit_(visit), limits_(limits) {}

  Status folder(const std::string& path, const Checksum& contents, const Checksum& meta_checksum, std::size_t depth) {
    if (depth > limits_.max_depth) {
      return error(Code::kExhausted, "/{}: folders are nested more than {} deep", path, limits_.max_depth);
    }
    STRAKE_TRY_CONTEXT(const DirMeta* meta, meta_of(meta_checksum), "folder /{}", path);
    STRAKE_CHECK_OK(show({path, contents, meta, &meta_checksum}));
    STRAKE_TRY_CONTEXT(const std::string bytes, read_metadata(source_, ObjectType::kDirTree, contents), "folder /{}",
                       path);
    STRAKE_TRY_CONTEXT(const DirTree tree, parse_dirtree(bytes), "folder /{}: dirtree object {}", path, contents.hex());
    const std::string prefix = path.empty() ? "" : path + "/";
    for (const DirTree::File& file : tree.files) {
      STRAKE_CHECK_OK(show({prefix + file.name, file.checksum, nullptr, nullptr}));
    }
    for (const DirTree::Directory& child : tree.directories) {
      STRAKE_CHECK_OK(folder(prefix + child.name, child.tree, child.meta, depth + 1));
    }
    return {};
  }

 private:
  Status show(const TreeEntry& entry) {
    if (++entries_ > limits_.max_entries) {
      return error(Code::kExhausted, "the commit has more than {} files and folders", limits_.max_entries);
    }
    if (entry.path.size() > limits_.max_path_bytes) {
      return error(Code::kExhausted, "a path has more than {} bytes: /{}...", limits_.max_path_bytes,
                   entry.path.substr(0, 200));
    }
    return visit_(entry);
  }

  /// Few objects serve all the folders of a tree.
  Result<const DirMeta*> meta_of(const Checksum& checksum) {
    if (const auto known = metas_.find(checksum); known != metas_.end()) return &known->second;
    STRAKE_TRY(const std::string bytes, read_metadata(source_, ObjectType::kDirMeta, checksum));
    STRAKE_TRY_CONTEXT(DirMeta meta, parse_dirmeta(bytes), "dirmeta object {}", checksum.hex());
    return &metas_.emplace(checksum, std::move(meta)).first->second;
  }

  const MetadataSource& source_;
  const TreeVisitor& visit_;
  const TreeLimits& limits_;
  std::map<Checksum, DirMeta> metas_;
  std::size_t entries_ = 0;
};

}  // namespace

Result<std::string> read_metadata(const MetadataSource& source, ObjectType type, const Checksum& checksum) {
  STRAKE_TRY(std::string bytes, source.load_metadata(type, checksum));
  STRAKE_CHECK_OK(require_checksum(type, checksum, Checksum::of(bytes)));
  return bytes;
}

Result<Commit> read_commit(const MetadataSource& source, const Checksum& checksum) {
  STRAKE_TRY(const std::string bytes, read_metadata(source, ObjectType::kCommit, checksum));
  return parse_commit(bytes).context("commit object {}", checksum.hex());
}

Status walk_tree(const MetadataSource& source, const Commit& commit, const TreeVisitor& visit,
                 const TreeLimits& limits) {
  return TreeWalk(source, visit, limits).folder("", commit.root_tree, commit.root_meta, 0);
}

}  // namespace strake::ostree
