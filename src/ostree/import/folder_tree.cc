#include "ostree/import/folder_tree.h"

#include "base/text.h"
#include "ostree/import/derived_paths.h"

namespace strake::ostree {

FolderTree::FolderTree(const MetadataSource& source, const Checksum& meta)
    : source_(source), default_meta_(meta), root_{.meta = meta, .contents = std::nullopt, .loaded = true} {}

FolderTree::FolderTree(const MetadataSource& source, const Checksum& contents, const Checksum& meta)
    : source_(source), default_meta_(meta), root_{.meta = meta, .contents = contents} {}

Status FolderTree::load(Folder& folder) const {
  if (folder.loaded) return {};
  STRAKE_TRY(const std::string bytes, read_metadata(source_, ObjectType::kDirTree, *folder.contents));
  STRAKE_TRY(DirTree tree, parse_dirtree(bytes));
  for (DirTree::File& file : tree.files) folder.files.emplace(std::move(file.name), file.checksum);
  for (DirTree::Directory& child : tree.directories) {
    folder.folders.emplace(std::move(child.name),
                           std::make_unique<Folder>(Folder{.meta = child.meta, .contents = child.tree}));
  }
  folder.loaded = true;
  return {};
}

Result<FolderTree::Folder*> FolderTree::parent_of(std::string_view& path, bool make) {
  Folder* at = &root_;
  std::size_t depth = 0;
  while (true) {
    STRAKE_CHECK_OK(load(*at));
    if (make) at->contents.reset();
    const std::size_t slash = path.find('/');
    if (slash == std::string_view::npos) return at;
    const std::string_view name = take_until(path, '/');
    if (++depth > TreeLimits{}.max_depth) return error(Code::kExhausted, "folders are nested too deep");
    auto child = at->folders.find(name);
    if (child == at->folders.end()) {
      if (!make) return static_cast<Folder*>(nullptr);
      if (at->files.contains(name)) {
        return error(Code::kCorrupt, "'{}' on its way is a file or a symbolic link, not a folder", name);
      }
      child = at->folders
                  .emplace(std::string(name), std::make_unique<Folder>(Folder{
                                                  .meta = default_meta_, .contents = std::nullopt, .loaded = true}))
                  .first;
    }
    at = child->second.get();
  }
}

Status FolderTree::put_file(std::string_view path, const Checksum& checksum) {
  std::string_view name = path;
  STRAKE_TRY_CONTEXT(Folder* const folder, parent_of(name, true), "'{}'", path);
  if (folder->folders.contains(name)) return error(Code::kCorrupt, "'{}' is a file and a folder at once", path);
  folder->files.insert_or_assign(std::string(name), checksum);
  return {};
}

Status FolderTree::put_folder(std::string_view path, const Checksum& meta) {
  std::string_view name = path;
  STRAKE_TRY_CONTEXT(Folder* const folder, parent_of(name, true), "'{}'", path);
  if (folder->files.contains(name)) return error(Code::kCorrupt, "'{}' is a file and a folder at once", path);
  std::unique_ptr<Folder>& child = folder->folders[std::string(name)];
  if (!child) child = std::make_unique<Folder>(Folder{.meta = meta, .contents = std::nullopt, .loaded = true});
  child->meta = meta;
  return {};
}

Result<std::optional<Checksum>> FolderTree::find_file(std::string_view path) {
  STRAKE_TRY(Folder* const folder, parent_of(path, false));
  if (folder == nullptr) return std::optional<Checksum>();
  const auto found = folder->files.find(path);
  return found == folder->files.end() ? std::optional<Checksum>() : std::optional(found->second);
}

Status FolderTree::remove_file(std::string_view path) {
  STRAKE_TRY(Folder* const folder, parent_of(path, true));
  if (const auto found = folder->files.find(path); found != folder->files.end()) folder->files.erase(found);
  return {};
}

Status FolderTree::merge(const Checksum& layer_contents) {
  merged_entries_ = 0;
  return merge_into(root_, layer_contents, 0);
}

Status FolderTree::merge_into(Folder& folder, const Checksum& layer_contents, std::size_t depth) {
  using Kind = DeployedEntry::Kind;
  STRAKE_TRY(const std::string bytes, read_metadata(source_, ObjectType::kDirTree, layer_contents));
  STRAKE_TRY(const DirTree layer, parse_dirtree(bytes));
  merged_entries_ += layer.files.size() + layer.directories.size();
  if (depth > TreeLimits{}.max_depth || merged_entries_ > TreeLimits{}.max_entries) {
    return error(Code::kExhausted, "the layer has more than {} entries, or folders more than {} deep",
                 TreeLimits{}.max_entries, TreeLimits{}.max_depth);
  }
  if (layer.files.empty() && layer.directories.empty()) return {};
  STRAKE_CHECK_OK(load(folder));
  folder.contents.reset();
  for (const DirTree::File& file : layer.files) {
    const DeployedEntry marker = read_marker(file.name);
    if (marker.kind == Kind::kOpaque) {
      folder.files.clear();
      folder.folders.clear();
    } else if (marker.kind == Kind::kRemoves) {
      folder.files.erase(marker.path);
      folder.folders.erase(marker.path);
    }
  }
  for (const DirTree::File& file : layer.files) {
    if (read_marker(file.name).kind != Kind::kPlaced) continue;
    folder.folders.erase(file.name);
    folder.files.insert_or_assign(file.name, file.checksum);
  }
  for (const DirTree::Directory& child : layer.directories) {
    folder.files.erase(child.name);
    STRAKE_TRY(const std::string child_bytes, read_metadata(source_, ObjectType::kDirTree, child.tree));
    STRAKE_TRY(const DirTree contents, parse_dirtree(child_bytes));
    bool opaque = false;
    for (const DirTree::File& file : contents.files) opaque = opaque || read_marker(file.name).kind == Kind::kOpaque;
    std::unique_ptr<Folder>& below = folder.folders[child.name];
    if (!below || opaque) {
      below = std::make_unique<Folder>(Folder{.meta = child.meta, .contents = std::nullopt, .loaded = true});
    }
    STRAKE_CHECK_OK(merge_into(*below, child.tree, depth + 1).context("folder '{}'", child.name));
  }
  return {};
}

Result<Checksum> FolderTree::write_folder(Folder& folder, RepositoryWriter& writer) {
  if (folder.contents) return *folder.contents;
  DirTree tree;
  tree.files.reserve(folder.files.size());
  tree.directories.reserve(folder.folders.size());
  for (const auto& [name, checksum] : folder.files) tree.files.push_back({name, checksum});
  for (const auto& [name, child] : folder.folders) {
    STRAKE_TRY_CONTEXT(const Checksum contents, write_folder(*child, writer), "folder '{}'", name);
    tree.directories.push_back({name, contents, child->meta});
  }
  STRAKE_TRY(folder.contents, writer.write_metadata(ObjectType::kDirTree, serialize_dirtree(tree)));
  return *folder.contents;
}

Result<Checksum> FolderTree::write(RepositoryWriter& writer) { return write_folder(root_, writer); }

}  // namespace strake::ostree
