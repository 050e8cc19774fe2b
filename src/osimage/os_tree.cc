#include "osimage/os_tree.h"

#include <sys/stat.h>

namespace strake::osimage {

namespace {

constexpr std::uint32_t kPermissionBits = 07777;

/// Takes the first part off a path.
std::string_view next_part(std::string_view& path) {
  const std::size_t slash = path.find('/');
  const std::string_view part = path.substr(0, slash);
  path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  return part;
}

}  // namespace

std::string_view to_string(NodeType type) {
  switch (type) {
    case NodeType::kDirectory: return "folder";
    case NodeType::kFile: return "file";
    case NodeType::kSymlink: return "symbolic link";
    case NodeType::kCharacterDevice: return "character device";
    case NodeType::kBlockDevice: return "block device";
    case NodeType::kFifo: return "fifo";
    case NodeType::kFileOrSymlink: return "file or symbolic link";
  }
  return "unknown";
}

SharedXattrs::SharedXattrs(ostree::Xattrs xattrs)
    : shared_(xattrs.empty() ? nullptr : std::make_shared<const ostree::Xattrs>(std::move(xattrs))) {}

const ostree::Xattrs& SharedXattrs::get() const {
  static const ostree::Xattrs kNone;
  return shared_ ? *shared_ : kNone;
}

std::string_view parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string_view name_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string join_path(std::string_view folder, std::string_view name) {
  return folder.empty() ? std::string(name) : fmt::format("{}/{}", folder, name);
}

const OsNode* OsTree::find(std::string_view path) const {
  const OsNode* at = &root_;
  while (!path.empty()) {
    const auto child = at->children.find(next_part(path));
    if (child == at->children.end()) return nullptr;
    at = child->second.get();
  }
  return at;
}

OsNode* OsTree::find(std::string_view path) { return const_cast<OsNode*>(std::as_const(*this).find(path)); }

OsNode& OsTree::put(std::string_view path, OsNode node) {
  OsNode* at = &root_;
  while (!path.empty()) {
    if (!at->is_directory()) *at = OsNode{};
    std::unique_ptr<OsNode>& child = at->children[std::string(next_part(path))];
    if (!child) child = std::make_unique<OsNode>();
    at = child.get();
  }
  *at = std::move(node);
  return *at;
}

void OsTree::erase(std::string_view path) {
  OsNode* folder = find(parent_of(path));
  if (folder == nullptr) return;
  if (const auto found = folder->children.find(name_of(path)); found != folder->children.end()) {
    folder->children.erase(found);
  }
}

Status walk_nodes(const std::string& path, const OsNode& node, bool recursive, NodeOrder order,
                  const NodeVisitor& visit) {
  const auto show = [&](const std::string& name, const OsNode& child) -> Status {
    const std::string child_path = join_path(path, name);
    STRAKE_CHECK_OK(visit(child_path, child));
    return recursive ? walk_nodes(child_path, child, true, order, visit) : Status();
  };
  if (order == NodeOrder::kByName) {
    for (const auto& [name, child] : node.children) STRAKE_CHECK_OK(show(name, *child));
    return {};
  }
  for (const bool folders : {false, true}) {
    for (const auto& [name, child] : node.children) {
      if (child->is_directory() == folders) STRAKE_CHECK_OK(show(name, *child));
    }
  }
  return {};
}

OsNode node_from_tar(const codec::TarEntry& entry, const LayerPlace& place) {
  OsNode node;
  switch (entry.type) {
    case codec::TarEntryType::kDirectory: node.type = NodeType::kDirectory; break;
    case codec::TarEntryType::kHardLink:  // the caller has put the file it leads to in its place
    case codec::TarEntryType::kFile:
      node.type = NodeType::kFile;
      node.place = place;
      break;
    case codec::TarEntryType::kSymlink: node.type = NodeType::kSymlink; break;
    case codec::TarEntryType::kCharacterDevice: node.type = NodeType::kCharacterDevice; break;
    case codec::TarEntryType::kBlockDevice: node.type = NodeType::kBlockDevice; break;
    case codec::TarEntryType::kFifo: node.type = NodeType::kFifo; break;
  }
  node.mode = entry.mode & kPermissionBits;
  node.uid = entry.uid;
  node.gid = entry.gid;
  node.size = entry.size;
  if (entry.type == codec::TarEntryType::kSymlink) node.link_target = entry.link_target;
  ostree::Xattrs xattrs;
  for (const auto& [name, value] : entry.xattrs) xattrs.push_back({name, value});
  node.xattrs = SharedXattrs(std::move(xattrs));
  return node;
}

void apply_file_info(const std::vector<OsNode*>& nodes, const ostree::FileInfo& info) {
  const SharedXattrs xattrs(info.xattrs);
  for (OsNode* node : nodes) {
    node->type = info.is_symlink() ? NodeType::kSymlink : NodeType::kFile;
    node->mode = info.mode & kPermissionBits;
    node->uid = info.uid;
    node->gid = info.gid;
    node->size = info.size;
    node->link_target = info.symlink_target;
    node->xattrs = xattrs;
  }
}

}  // namespace strake::osimage
