#include <set>

#include "base/file_tree.h"

namespace strake {

Result<std::optional<FileState>> MemoryTree::read(const std::string& path) {
  std::lock_guard lock(mutex_);
  const auto found = files_.find(path);
  if (found == files_.end()) return std::optional<FileState>();
  return std::optional(found->second);
}

Status MemoryTree::make_parents_locked(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string parent = path.substr(0, slash);
    const auto [at, made] = files_.emplace(parent, FileState{FileState::Kind::kDirectory, 0755, "", {}});
    if (at->second.kind == FileState::Kind::kFile)
      return error(Code::kNotFound, "opening {}: Not a directory", parent);  // as the system's own code maps
  }
  return {};
}

Status MemoryTree::put_locked(const std::string& path, FileState state) {
  STRAKE_CHECK_OK(make_parents_locked(path));
  const auto found = files_.find(path);
  if (found != files_.end() && found->second.kind == FileState::Kind::kDirectory)
    return error(Code::kIo, "replacing {}: Is a directory", path);
  files_.insert_or_assign(path, std::move(state));
  return {};
}

bool MemoryTree::is_empty_locked(const std::string& folder) const {
  const auto below = files_.lower_bound(folder + "/");
  return below == files_.end() || !below->first.starts_with(folder + "/");
}

Status MemoryTree::write(const std::string& path, std::string_view contents, std::uint32_t mode,
                         const FileOwner& owner) {
  std::lock_guard lock(mutex_);
  return put_locked(path, {FileState::Kind::kFile, mode, std::string(contents), owner});
}

Status MemoryTree::write_link(const std::string& path, const std::string& target) {
  std::lock_guard lock(mutex_);
  return put_locked(path, {FileState::Kind::kLink, 0777, target, {}});
}

Status MemoryTree::remove(const std::string& path) {
  std::lock_guard lock(mutex_);
  const auto found = files_.find(path);
  if (found == files_.end()) return {};
  if (found->second.kind == FileState::Kind::kDirectory) return error(Code::kIo, "removing {}: Is a directory", path);
  files_.erase(found);
  return {};
}

Status MemoryTree::make_folder(const std::string& path) {
  std::lock_guard lock(mutex_);
  return make_parents_locked(path + "/");
}

Status MemoryTree::remove_folder(const std::string& path) {
  std::lock_guard lock(mutex_);
  const auto found = files_.find(path);
  if (found == files_.end()) return {};
  if (found->second.kind != FileState::Kind::kDirectory)
    return error(Code::kNotFound, "removing folder {}: Not a directory", path);
  if (!is_empty_locked(path)) return error(Code::kIo, "removing folder {}: Directory not empty", path);
  files_.erase(found);
  return {};
}

Result<std::vector<std::string>> MemoryTree::list(const std::string& path) {
  std::lock_guard lock(mutex_);
  const std::string prefix = path == "/" ? "/" : path + "/";
  std::set<std::string> names;  // not in the order of the paths: "a.b" stands between "a" and "a/c"
  for (auto it = files_.lower_bound(prefix); it != files_.end() && it->first.starts_with(prefix); ++it) {
    const std::string name = it->first.substr(prefix.size());
    names.insert(name.substr(0, name.find('/')));
  }
  return std::vector<std::string>(names.begin(), names.end());
}

std::map<std::string, FileState> MemoryTree::snapshot() const {
  std::lock_guard lock(mutex_);
  return files_;
}

}  // namespace strake
