#include "osimage/derived_layers.h"

#include <set>

#include "codec/archive_path.h"
#include "ostree/import/derived_paths.h"

namespace strake::osimage {

namespace {

constexpr std::string_view kRepositoryObjects = "sysroot/ostree/repo/objects/";

using ostree::DeployedEntry;

std::string_view first_part(std::string_view path) { return path.substr(0, path.find('/')); }

/// "objects/ab/cd....file" below the repository: the checksum.
std::optional<ostree::Checksum> linked_object(std::string_view target) {
  if (!target.starts_with(kRepositoryObjects) || !target.ends_with(".file")) return std::nullopt;
  target.remove_prefix(kRepositoryObjects.size());
  target.remove_suffix(std::string_view(".file").size());
  if (target.size() < 3 || target[2] != '/') return std::nullopt;
  const Result<ostree::Checksum> checksum =
      ostree::Checksum::from_hex(std::string(target.substr(0, 2)) + std::string(target.substr(3)));
  return checksum.ok() ? std::optional(*checksum) : std::nullopt;
}

/// An existing file under another name.
OsNode copy_of(const OsNode& node) {
  return {node.type,   node.mode,     node.uid,     node.gid,   node.size, node.link_target,
          node.xattrs, node.checksum, std::nullopt, node.place, {}};
}

class LayerMerge {
 public:
  LayerMerge(OsTree& tree, std::size_t number, const MergeRules& rules, MergeReport& report)
      : tree_(tree), number_(number), rules_(rules), report_(report) {}

  Status run(const oci::LayerIndex& layer) {
    for (const oci::LayerFile& file : layer.files) own_.insert_or_assign(file.tar.path, &file);
    for (const auto& [path, file] : own_) {
      if (path != ".") STRAKE_CHECK_OK(sort_in(path, *file).context("entry '{}'", path));
    }
    // Markers speak about the layers below, wherever in the archive they stand.
    for (const std::string& folder : opaque_) {
      if (OsNode* node = tree_.find(folder); node != nullptr) node->children.clear();
    }
    for (const std::string& path : removed_) tree_.erase(path);
    for (auto& [path, node] : added_) place(path, std::move(node));
    return {};
  }

 private:
  Status sort_in(const std::string& path, const oci::LayerFile& file) {
    DeployedEntry entry =
        ostree::deploy_entry(path, file.tar.type == codec::TarEntryType::kDirectory, rules_.any_toplevel);
    switch (entry.kind) {
      case DeployedEntry::Kind::kDropped: ++report_.dropped[entry.path]; return {};
      case DeployedEntry::Kind::kRemoves: removed_.insert(std::move(entry.path)); return {};
      case DeployedEntry::Kind::kOpaque: opaque_.insert(std::move(entry.path)); return {};
      case DeployedEntry::Kind::kIgnored: return {};
      case DeployedEntry::Kind::kPlaced: break;
    }
    STRAKE_TRY(OsNode node, node_of(file));
    added_.emplace(std::move(entry.path), std::move(node));
    return {};
  }

  Result<OsNode> node_of(const oci::LayerFile& file) {
    if (file.tar.type != codec::TarEntryType::kHardLink) {
      return node_from_tar(file.tar, {number_, file.tar_offset});
    }
    STRAKE_TRY(const std::string target, codec::clean_archive_path(file.tar.link_target));
    if (const auto own = own_.find(target); own != own_.end()) {
      const oci::LayerFile& linked = *own->second;
      if (linked.tar.type == codec::TarEntryType::kFile || linked.tar.type == codec::TarEntryType::kSymlink) {
        OsNode& first = linked_.try_emplace(&linked).first->second;
        if (first.is_directory()) first = node_from_tar(linked.tar, {number_, linked.tar_offset});
        return copy_of(first);
      }
    } else if (const std::optional<ostree::Checksum> object = linked_object(target)) {
      OsNode node;
      node.type = NodeType::kFileOrSymlink;
      node.checksum = object;
      return node;
    } else {
      const DeployedEntry below = ostree::deploy_path(target, rules_.any_toplevel);
      const OsNode* found = below.kind == DeployedEntry::Kind::kPlaced ? tree_.find(below.path) : nullptr;
      if (found != nullptr && !found->is_directory()) return copy_of(*found);
    }
    return error(Code::kCorrupt, "it is a hard link to '{}', which is no file of this layer or those below", target);
  }

  void place(const std::string& path, OsNode node) {
    OsNode* const found = tree_.find(path);
    if (node.is_directory() && found != nullptr && found->is_directory()) {
      if (!opaque_.contains(path)) return;
      node.children = std::move(found->children);
    }
    tree_.put(path, std::move(node));
  }

  OsTree& tree_;
  std::size_t number_;
  const MergeRules& rules_;
  MergeReport& report_;
  std::map<std::string, const oci::LayerFile*> own_;  ///< the last entry of a name wins
  std::map<const oci::LayerFile*, OsNode> linked_;    ///< what hard links lead to, so that they share its attributes
  std::set<std::string> opaque_;
  std::set<std::string> removed_;
  std::map<std::string, OsNode> added_;
};

void forget_folder_checksums(OsNode& node) {
  node.checksum.reset();
  node.meta_checksum.reset();
  for (const auto& [name, child] : node.children) {
    if (child->is_directory()) forget_folder_checksums(*child);
  }
}

}  // namespace

bool has_other_toplevels(const oci::LayerIndex& layer) {
  for (const oci::LayerFile& file : layer.files) {
    const std::string_view top = first_part(file.tar.path);
    if (top != "." && top != "sysroot" && !ostree::is_known_toplevel(top)) return true;
  }
  return false;
}

Status merge_layer(OsTree& tree, const oci::LayerIndex& layer, std::size_t number, const MergeRules& rules,
                   MergeReport& report) {
  return LayerMerge(tree, number, rules, report).run(layer);
}

void finish_merge(OsTree& tree) {
  for (const std::string_view path : ostree::kInjectedFiles) {
    const OsNode* node = tree.find(path);
    if (node != nullptr && node->type == NodeType::kFile && node->place && node->size == 0) tree.erase(path);
  }
  forget_folder_checksums(tree.root());
}

}  // namespace strake::osimage
