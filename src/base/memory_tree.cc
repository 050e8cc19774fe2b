#include "base/file_tree.h"

namespace strake {

Result<std::optional<FileState>> MemoryTree::read(const std::string& path) {
  std::lock_guard lock(mutex_);
  const auto found = files_.find(path);
  if (found == files_.end()) return std::optional<FileState>();
  return std::optional(found->second);
}

Status MemoryTree::write(const std::string& path, std::string_view contents, std::uint32_t mode, const FileOwner&) {
  std::lock_guard lock(mutex_);
  files_[path] = FileState{FileState::Kind::kFile, mode, std::string(contents)};
  return {};
}

Status MemoryTree::write_link(const std::string& path, const std::string& target) {
  std::lock_guard lock(mutex_);
  files_[path] = FileState{FileState::Kind::kLink, 0777, target};
  return {};
}

Status MemoryTree::remove(const std::string& path) {
  std::lock_guard lock(mutex_);
  files_.erase(path);
  return {};
}

Result<std::vector<std::string>> MemoryTree::list(const std::string& path) {
  std::lock_guard lock(mutex_);
  const std::string prefix = path == "/" ? "/" : path + "/";
  std::vector<std::string> names;
  for (auto it = files_.lower_bound(prefix); it != files_.end() && it->first.starts_with(prefix); ++it) {
    std::string name = it->first.substr(prefix.size());
    name = name.substr(0, name.find('/'));
    if (names.empty() || names.back() != name) names.push_back(std::move(name));
  }
  return names;
}

std::map<std::string, FileState> MemoryTree::snapshot() const {
  std::lock_guard lock(mutex_);
  return files_;
}

}  // namespace strake
