// OsTree: the files of an operating system, in memory, wherever they come from: layers of an image, objects of a
// commit, or both. Links are names like others here: nothing in this tree leads outside it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/tar.h"
#include "ostree/objects.h"

namespace strake::osimage {

enum class NodeType {
  kDirectory,
  kFile,
  kSymlink,
  kCharacterDevice,
  kBlockDevice,
  kFifo,
  kFileOrSymlink,  ///< one of the two: the list of a commit's folder does not say which, its objects do
};

std::string_view to_string(NodeType type);

/// Where in an image's layers content stands.
struct LayerPlace {
  std::size_t layer = 0;
  std::uint64_t tar_offset = 0;

  auto operator<=>(const LayerPlace&) const = default;
};

/// Extended attributes, shared by the nodes of one object: a small image may put one object at a million paths.
class SharedXattrs {
 public:
  SharedXattrs() = default;
  explicit SharedXattrs(ostree::Xattrs xattrs);
  const ostree::Xattrs& get() const;
  bool operator==(const SharedXattrs& other) const { return get() == other.get(); }

 private:
  std::shared_ptr<const ostree::Xattrs> shared_;  ///< nullptr: none
};

struct OsNode {
  using Children = std::map<std::string, std::unique_ptr<OsNode>, std::less<>>;

  NodeType type = NodeType::kDirectory;
  std::uint32_t mode = 0755;  ///< permission bits; as the four below known unless the type is kFileOrSymlink
  std::uint64_t uid = 0;
  std::uint64_t gid = 0;
  std::uint64_t size = 0;
  std::string link_target{};
  SharedXattrs xattrs{};
  std::optional<ostree::Checksum> checksum{};       ///< of the ostree object: file, or list of a folder
  std::optional<ostree::Checksum> meta_checksum{};  ///< of a folder's dirmeta object
  std::optional<LayerPlace> place{};                ///< of a file that is in a layer and no ostree object
  Children children{};

  bool is_directory() const { return type == NodeType::kDirectory; }
};

class OsTree {
 public:
  OsNode& root() { return root_; }
  const OsNode& root() const { return root_; }

  /// By a clean path: "usr/bin/bash", "" is the root. Links are not followed.
  const OsNode* find(std::string_view path) const;
  OsNode* find(std::string_view path);

  /// The place for a new entry; what is missing of its folders is made, and what is no folder on the way replaced by
  /// one.
  OsNode& put(std::string_view path, OsNode node);
  /// With everything below it; nothing happens when it is not there.
  void erase(std::string_view path);

 private:
  OsNode root_;
};

enum class NodeOrder {
  kByName,
  kFoldersLast,  ///< of each folder what is none, then the folders: as `ostree ls -R` prints them
};
/// Shows what is in a folder; when recursive, a folder is followed by what is in it. `path` is that of the node itself.
using NodeVisitor = std::function<Status(const std::string& path, const OsNode& node)>;
Status walk_nodes(const std::string& path, const OsNode& node, bool recursive, NodeOrder order,
                  const NodeVisitor& visit);

/// What a layer says about a file.
OsNode node_from_tar(const codec::TarEntry& entry, const LayerPlace& place);
/// Completes nodes of one object with what it says.
void apply_file_info(const std::vector<OsNode*>& nodes, const ostree::FileInfo& info);

/// "a/b" of "a/b/c"; "" of "c".
std::string_view parent_of(std::string_view path);
std::string_view name_of(std::string_view path);
std::string join_path(std::string_view folder, std::string_view name);

}  // namespace strake::osimage
