#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

#include "ignition/checks.h"

namespace strake::ignition {

namespace {

constexpr std::int64_t kMaxNodeMode = 07777;
constexpr std::int64_t kSpecialModeBits = 07000;
constexpr SpecVersion kOptionalLinkTarget{3, 3};  // until then a string that Go leaves empty, and nobody checks

/// Whether simplified_path() would leave an absolute path as it is.
bool is_simplified(std::string_view path) {
  if (path == "/") return true;
  const auto contains = [&](std::string_view part) { return path.find(part) != std::string_view::npos; };
  return !path.ends_with('/') && !contains("//") && !contains("/./") && !contains("/../") && !path.ends_with("/.") &&
         !path.ends_with("/..");
}

void check_mode(const CheckedObject& node) {
  const auto mode = node.integer("mode");
  if (!mode) return;
  if (*mode < 0 || *mode > kMaxNodeMode) node.error("mode", "illegal file mode", fmt::format("{}", *mode));
  if ((*mode & kSpecialModeBits) != 0) {
    node.warn("mode", "setuid/setgid/sticky bits are not supported or functional in spec versions older than 3.6.0");
  }
}

/// How often each path occurs in a list.
std::unordered_map<std::string_view, int> paths_of(const CheckedObject& storage, std::string_view list) {
  std::unordered_map<std::string_view, int> paths;
  for (std::size_t i = 0; i < storage.list(list).size(); ++i) {
    ++paths[storage.item(list, i, storage.path()).text_or_empty("path")];
  }
  return paths;
}

/// Links by a hash of their path that is made byte by byte, so that all the folders around a path are looked up in one
/// walk along it.
class LinkIndex {
 public:
  explicit LinkIndex(const std::unordered_map<std::string_view, int>& links) {
    for (const auto& [path, count] : links) {
      std::uint64_t hash = kStart;
      for (const char c : path) hash = next(hash, c);
      by_hash_[hash].emplace_back(path, count);
    }
  }

  /// Calls `visit` with how many links each folder around `path` is.
  template <typename Visit>
  void visit_around(std::string_view path, Visit visit) const {
    std::uint64_t hash = kStart;
    for (std::size_t i = 0; i < path.size(); hash = next(hash, path[i++])) {
      if (path[i] != '/') continue;
      const auto found = by_hash_.find(hash);
      if (found == by_hash_.end()) continue;
      for (const auto& [link, count] : found->second) {
        if (link == path.substr(0, i)) visit(count);
      }
    }
  }

 private:
  static constexpr std::uint64_t kStart = 0xCBF29CE484222325;  // FNV-1a
  static std::uint64_t next(std::uint64_t hash, char c) {
    return (hash ^ static_cast<unsigned char>(c)) * std::uint64_t{0x100000001B3};
  }

  std::unordered_map<std::uint64_t, std::vector<std::pair<std::string_view, int>>> by_hash_;
};

/// Nothing may stand below a link of the same config: where it would land is not known.
void check_below_links(const CheckedObject& storage, std::string_view list, std::string_view message,
                       const LinkIndex& links) {
  const Path list_path = storage.path().member(list);
  for (std::size_t i = 0; i < storage.list(list).size() && !storage.report().is_full(); ++i) {
    const Path path = list_path.item(i);
    const std::string_view node_path = storage.item(list, i, path).text_or_empty("path");
    links.visit_around(node_path, [&](int count) {
      for (int n = 0; n < count && !storage.report().is_full(); ++n) {
        storage.report().error(path, std::string(message), node_path);
      }
    });
  }
}

void check_hard_link(const CheckedObject& link, const std::unordered_map<std::string_view, int>& directories) {
  const std::string_view given = link.text_or_empty("target");
  std::string target = simplified_path(given);
  if (!target.starts_with('/')) {
    const std::string_view around = link.text_or_empty("path");
    target = simplified_path(around.empty() ? std::string(given) : fmt::format("{}/{}", around, given));
  }
  const auto directory = directories.find(target);
  for (int n = 0; directory != directories.end() && n < directory->second && !link.report().is_full(); ++n) {
    link.report().error(link.path(), "hard link target is a directory", target);
  }
  for (const std::string_view owner : {"user", "group"}) {
    const Path path = link.path().member(owner);
    const CheckedObject given_owner = link.inside(owner, path);
    for (const std::string_view member : {"id", "name"}) {
      if (given_owner.has(member)) given_owner.warn(member, "user/group ignored for hard link");
    }
  }
}

void check_links(const CheckedObject& storage, const std::unordered_map<std::string_view, int>& directories) {
  const Path list_path = storage.path().member("links");
  for (std::size_t i = 0; i < storage.list("links").size(); ++i) {
    const Path path = list_path.item(i);
    const CheckedObject link = storage.item("links", i, path);
    if (link.version() >= kOptionalLinkTarget && link.text_or_empty("target").empty()) {
      link.error("target", "link target is required");
    } else if (link.boolean("hard") == true) {
      check_hard_link(link, directories);
    }
  }
}

void check_filesystem_devices(const CheckedObject& storage) {
  std::map<std::string_view, std::size_t> disks;
  for (std::size_t i = 0; i < storage.list("disks").size(); ++i) {
    disks[storage.item("disks", i, storage.path()).text_or_empty("device")] = i;
  }
  const Path list_path = storage.path().member("filesystems");
  for (std::size_t i = 0; i < storage.list("filesystems").size(); ++i) {
    const Path path = list_path.item(i);
    const CheckedObject filesystem = storage.item("filesystems", i, path);
    const auto found = disks.find(filesystem.text_or_empty("device"));
    if (found == disks.end()) continue;
    const CheckedObject disk = storage.item("disks", found->second, storage.path());
    if (!disk.list("partitions").empty()) {
      filesystem.warn("device", "filesystem overwrites partitioned device", found->first);
    } else if (filesystem.boolean("wipeFilesystem") != true && disk.boolean("wipeTable") == true) {
      filesystem.warn("device", "device matches disk with wipeTable enabled; filesystem will be wiped", found->first);
    }
  }
}

}  // namespace

std::string simplified_path(std::string_view path) {
  const bool absolute = path.starts_with('/');
  std::vector<std::string_view> parts;
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    const std::string_view part = path.substr(start, end - start);
    start = end + 1;
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (!parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else if (!absolute) {
      parts.push_back(part);
    }
  }
  const std::string joined = fmt::format("{}", fmt::join(parts, "/"));
  if (absolute) return "/" + joined;
  return joined.empty() ? "." : joined;
}

std::optional<std::string> path_problem(std::string_view path) {
  if (path.empty()) return "path not specified";
  if (!path.starts_with('/')) return "path not absolute";
  if (path.size() > kMaxPathBytes) return fmt::format("path is longer than {} bytes", kMaxPathBytes);
  if (!is_simplified(path)) return "path is not fully simplified";
  return std::nullopt;
}

void check_storage(const CheckedObject& storage) {
  const auto links = paths_of(storage, "links");
  if (!links.empty()) {
    const LinkIndex index(links);
    check_below_links(storage, "directories", "directory path includes link in config", index);
    check_below_links(storage, "files", "file path includes link in config", index);
    check_below_links(storage, "links", "link path includes link in config", index);
    check_links(storage, paths_of(storage, "directories"));
  }
  check_filesystem_devices(storage);
}

void check_node(const CheckedObject& node) {
  const std::string_view path = node.text_or_empty("path");
  if (auto problem = path_problem(path)) node.error("path", *std::move(problem), path);
}

void check_file(const CheckedObject& file) {
  check_node(file);
  check_mode(file);
  const Path contents_path = file.path().member("contents");
  if (file.boolean("overwrite") == true && !file.inside("contents", contents_path).has("source")) {
    file.error("overwrite", "overwrite must be false if source is unspecified");
  }
}

void check_directory(const CheckedObject& directory) {
  check_node(directory);
  check_mode(directory);
}

void check_owner(const CheckedObject& owner) {
  if (owner.has("id") && !owner.text_or_empty("name").empty()) {
    owner.report().error(owner.path(), "cannot set both id and name");
  }
}

}  // namespace strake::ignition
