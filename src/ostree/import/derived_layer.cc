#include "ostree/import/derived_layer.h"

#include <sys/stat.h>

#include <limits>

#include "codec/tar.h"
#include "codec/utf8.h"
#include "ostree/import/derived_paths.h"
#include "ostree/import/folder_tree.h"

namespace strake::ostree {

namespace {

using codec::TarEntryType;

/// Objects that a container runtime reaches by hard links: one that a build changed is in the layer itself.
constexpr std::string_view kRuntimeObjects = "sysroot/ostree/repo/objects/";

/// What stands at a path of the tree; exactly one of the three.
struct Node {
  std::optional<Checksum> folder_meta{};
  std::optional<Checksum> file{};
  std::string link_to{};  ///< a hard link: the clean path as the archive has it
};

class DerivedScan {
 public:
  DerivedScan(const DerivedLayerRules& rules, RepositoryWriter& writer) : rules_(rules), writer_(writer) {}

  Status add(const codec::TarEntry& entry, codec::Source& content) {
    STRAKE_CHECK_OK(count(entry));
    if (entry.type == TarEntryType::kDirectory && entry.path == ".") {
      STRAKE_TRY(root_meta_, folder_meta(entry));
      return {};
    }
    const DeployedEntry place = deploy_path(entry.path, rules_.any_toplevel);
    const bool placed = place.kind == DeployedEntry::Kind::kPlaced;
    if (!placed) ++dropped_[place.path];
    Node node;
    switch (entry.type) {
      case TarEntryType::kDirectory: {
        if (!placed) return {};
        STRAKE_TRY(node.folder_meta, folder_meta(entry));
        break;
      }
      case TarEntryType::kFile:
      case TarEntryType::kSymlink: {
        if (!placed && !entry.path.starts_with(kRuntimeObjects)) return {};
        STRAKE_TRY(node.file, write(entry, content));
        // The last entry of a name counts, for links too.
        files_.insert_or_assign(entry.path, *node.file);
        break;
      }
      case TarEntryType::kHardLink: {
        if (!placed) return {};
        STRAKE_TRY_CONTEXT(node.link_to, codec::clean_archive_path(entry.link_target), "its target");
        break;
      }
      case TarEntryType::kCharacterDevice:
      case TarEntryType::kBlockDevice:
      case TarEntryType::kFifo:
        if (!placed) return {};
        return error(Code::kUnsupported, "an OS image cannot hold a {}", codec::to_string(entry.type));
    }
    if (placed) nodes_.insert_or_assign(place.path, std::move(node));
    return {};
  }

  Result<DerivedLayer> finish() && {
    STRAKE_TRY(const Checksum default_meta,
               writer_.write_metadata(ObjectType::kDirMeta, serialize_dirmeta(described({0, 0, S_IFDIR | 0755, {}}))));
    FolderTree tree(writer_.repository(), default_meta);
    if (root_meta_) tree.set_meta(*root_meta_);
    for (const auto& [path, node] : nodes_) {
      if (node.folder_meta) {
        STRAKE_CHECK_OK(tree.put_folder(path, *node.folder_meta));
        continue;
      }
      STRAKE_TRY_CONTEXT(const Checksum file, file_of(node), "entry '{}'", path);
      STRAKE_CHECK_OK(tree.put_file(path, file));
    }
    STRAKE_TRY(const Checksum contents, tree.write(writer_));
    return DerivedLayer{contents, tree.meta(), std::move(dropped_)};
  }

 private:
  Status count(const codec::TarEntry& entry) {
    name_bytes_ += entry.path.size() + entry.link_target.size();
    for (const auto& [name, value] : entry.xattrs) name_bytes_ += name.size() + value.size();
    if (++entries_ > kMaxDerivedEntries || name_bytes_ > kMaxDerivedNameBytes) {
      return error(Code::kExhausted, "the layer has more than {} entries, or {} bytes of names and attributes",
                   kMaxDerivedEntries, kMaxDerivedNameBytes);
    }
    if (!codec::is_valid_utf8(entry.path) || !codec::is_valid_utf8(entry.link_target)) {
      return error(Code::kUnsupported, "its name is not UTF-8, and ostree knows no other");
    }
    constexpr std::uint64_t kLargest = std::numeric_limits<std::uint32_t>::max();
    if (entry.uid > kLargest || entry.gid > kLargest) {
      return error(Code::kCorrupt, "its owner {}:{} is larger than a number of a user", entry.uid, entry.gid);
    }
    return {};
  }

  static Xattrs xattrs_of(const codec::TarEntry& entry) {
    Xattrs xattrs;
    for (const auto& [name, value] : entry.xattrs) {
      // ostree leaves out those without a value.
      if (!value.empty()) xattrs.push_back({name, value});
    }
    return xattrs;
  }

  DirMeta described(DirMeta meta) const { return rules_.owner ? mapped_to(*rules_.owner, std::move(meta)) : meta; }

  Result<Checksum> folder_meta(const codec::TarEntry& entry) {
    const DirMeta meta{static_cast<std::uint32_t>(entry.uid), static_cast<std::uint32_t>(entry.gid),
                       S_IFDIR | entry.mode, xattrs_of(entry)};
    return writer_.write_metadata(ObjectType::kDirMeta, serialize_dirmeta(described(meta)));
  }

  Result<Checksum> write(const codec::TarEntry& entry, codec::Source& content) {
    FileInfo info;
    info.uid = static_cast<std::uint32_t>(entry.uid);
    info.gid = static_cast<std::uint32_t>(entry.gid);
    info.xattrs = xattrs_of(entry);
    if (entry.type == TarEntryType::kSymlink) {
      info.mode = S_IFLNK | 0777;
      info.symlink_target = entry.link_target;
    } else {
      info.mode = S_IFREG | entry.mode;
      info.size = entry.size;
    }
    return writer_.write_file(rules_.owner ? mapped_to(*rules_.owner, std::move(info)) : info, content);
  }

  Result<Checksum> file_of(const Node& node) const {
    if (node.file) return *node.file;
    if (const auto found = files_.find(node.link_to); found != files_.end()) return found->second;
    return error(Code::kCorrupt, "it is a hard link to '{}', which is no file of this layer", node.link_to);
  }

  const DerivedLayerRules& rules_;
  RepositoryWriter& writer_;
  std::optional<Checksum> root_meta_;
  std::map<std::string, Node> nodes_;      ///< by where they are deployed
  std::map<std::string, Checksum> files_;  ///< by their names in the archive, for hard links
  std::map<std::string, std::size_t> dropped_;
  std::size_t entries_ = 0;
  std::uint64_t name_bytes_ = 0;
};

}  // namespace

Result<DerivedLayer> read_derived_layer(codec::Source& tar, const DerivedLayerRules& rules, RepositoryWriter& writer) {
  DerivedScan scan(rules, writer);
  codec::TarReader reader(tar);
  for (;;) {
    STRAKE_TRY(std::optional<codec::TarEntry> entry, reader.next());
    if (!entry) break;
    STRAKE_TRY_CONTEXT(entry->path, codec::clean_archive_path(entry->path), "entry '{}'", entry->path);
    STRAKE_CHECK_OK(scan.add(*entry, reader.content()).context("entry '{}'", entry->path));
  }
  return std::move(scan).finish();
}

}  // namespace strake::ostree
