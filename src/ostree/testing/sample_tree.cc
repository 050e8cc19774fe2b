#include "ostree/testing/sample_tree.h"

#include <sys/stat.h>

#include <memory>

#include "base/fd.h"
#include "codec/compress.h"
#include "ostree/repository.h"

namespace strake::ostree::testing {

namespace {

struct Folder {
  DirMeta meta{0, 0, S_IFDIR | 0755, {}};
  std::map<std::string, Checksum> files;
  std::map<std::string, std::unique_ptr<Folder>> folders;
};

Folder& folder_at(Folder& root, std::string_view path) {
  Folder* at = &root;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    auto& child = at->folders[std::string(path.substr(0, slash))];
    if (!child) child = std::make_unique<Folder>();
    at = child.get();
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  return *at;
}

}  // namespace

SampleTree::SampleTree(const std::vector<SampleFile>& sample_files,
                       const std::map<std::string, std::string>& commit_metadata) {
  Folder root;
  for (const SampleFile& file : sample_files) {
    if (file.path.ends_with('/')) {
      Folder& folder = folder_at(root, std::string_view(file.path).substr(0, file.path.size() - 1));
      folder.meta = {file.uid, file.gid, S_IFDIR | file.mode, file.xattrs};
      continue;
    }
    FileInfo info{file.uid, file.gid, S_IFREG | file.mode, file.content.size(), file.symlink_target, file.xattrs};
    if (!file.symlink_target.empty()) info.mode = S_IFLNK | 0777;
    const Checksum checksum = checksum_of_file(info, file.content);
    const std::size_t slash = file.path.rfind('/');
    Folder& folder = folder_at(root, slash == std::string::npos ? "" : file.path.substr(0, slash));
    folder.files.emplace(slash == std::string::npos ? file.path : file.path.substr(slash + 1), checksum);
    files.insert_or_assign(checksum, Stored{std::move(info), file.content});
  }
  const auto add_folder = [this](const auto& self, const Folder& folder) -> std::pair<Checksum, Checksum> {
    DirTree tree;
    for (const auto& [name, checksum] : folder.files) tree.files.push_back({name, checksum});
    for (const auto& [name, child] : folder.folders) {
      const auto [contents, meta] = self(self, *child);
      tree.directories.push_back({name, contents, meta});
    }
    return {add(ObjectType::kDirTree, serialize_dirtree(tree)),
            add(ObjectType::kDirMeta, serialize_dirmeta(folder.meta))};
  };
  const auto [contents, meta] = add_folder(add_folder, root);
  std::vector<Variant> entries;
  for (const auto& [key, value] : commit_metadata) {
    Variant entry = Variant::tuple({Variant::string(key), Variant::boxed(Variant::string(value))});
    entry.type = "{sv}";
    entries.push_back(std::move(entry));
  }
  const Commit commit{
      Variant::array("{sv}", std::move(entries)), std::nullopt, "sample", "", 1'700'000'000, contents, meta};
  commit_ = add(ObjectType::kCommit, serialize_commit(commit));
}

Checksum SampleTree::add(ObjectType type, std::string bytes) {
  const Checksum checksum = Checksum::of(bytes);
  metadata.insert_or_assign({type, checksum}, std::move(bytes));
  return checksum;
}

Result<std::string> SampleTree::load_metadata(ObjectType type, const Checksum& checksum) const {
  const auto found = metadata.find({type, checksum});
  if (found == metadata.end()) {
    return error(Code::kNotFound, "{} object {} is missing", to_string(type), checksum.hex());
  }
  return found->second;
}

std::string archived(const SampleTree::Stored& file) {
  std::string bytes = serialize_archived_header(file.info);
  if (file.info.is_symlink()) return bytes;
  constexpr std::size_t kGzipHeaderBytes = 10;
  constexpr std::size_t kGzipTrailerBytes = 8;
  const std::string gz = codec::gzip(file.content);
  return bytes + gz.substr(kGzipHeaderBytes, gz.size() - kGzipHeaderBytes - kGzipTrailerBytes);
}

void write_archive_repository(const std::filesystem::path& directory, const SampleTree& tree, const std::string& ref) {
  const auto put = [&](const std::string& path, std::string_view bytes) {
    std::filesystem::create_directories((directory / path).parent_path());
    STRAKE_INVARIANT(write_file_atomic(directory / path, bytes, 0644).ok());
  };
  put("config", "[core]\nrepo_version=1\nmode=archive-z2\n");
  put("refs/heads/" + ref, tree.commit().hex() + "\n");
  for (const auto& [key, bytes] : tree.metadata)
    put(object_path(RepositoryMode::kArchive, key.first, key.second), bytes);
  for (const auto& [checksum, file] : tree.files) {
    put(object_path(RepositoryMode::kArchive, ObjectType::kFile, checksum), archived(file));
  }
}

}  // namespace strake::ostree::testing
