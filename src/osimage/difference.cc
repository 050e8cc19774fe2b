#include "osimage/difference.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "base/visible_text.h"
#include "osimage/listing.h"

namespace strake::osimage {

namespace {

constexpr std::string_view kSelinuxLabel = "security.selinux";

/// Only hashes.
class DigestSink final : public codec::Sink {
 public:
  Status write(std::span<const std::byte> bytes) override {
    hasher_.update(bytes);
    return {};
  }
  codec::Digest finish() { return std::move(hasher_).finish(); }

 private:
  codec::Hasher hasher_{codec::Digest::Algorithm::kSha256};
};

using PathMap = std::map<std::string, std::string>;  // the name compared -> the name in the tree

bool keeps_etc_in_usr(const OsTree& tree) { return tree.find("etc") == nullptr && tree.find("usr/etc") != nullptr; }

PathMap paths_of(const OsTree& tree, bool etc_in_usr) {
  PathMap paths;
  const NodeVisitor add = [&](const std::string& path, const OsNode&) -> Status {
    const bool moved = etc_in_usr && (path == "usr/etc" || path.starts_with("usr/etc/"));
    paths.emplace(moved ? path.substr(std::string_view("usr/").size()) : path, path);
    return {};
  };
  STRAKE_INVARIANT(walk_nodes("", tree.root(), true, NodeOrder::kByName, add).ok());
  return paths;
}

/// A name that both have.
struct CommonPath {
  std::string shown;
  std::string before;
  std::string after;
};

Result<std::map<std::string, codec::Digest>> hash_files(OsImage& image, const std::vector<std::string>& paths,
                                                        const runtime::Call& call) {
  std::vector<std::pair<std::vector<std::string>, std::unique_ptr<DigestSink>>> sinks;
  const OsImage::OpenSink open = [&](const std::vector<std::string>& sharing) -> Result<codec::Sink*> {
    return sinks.emplace_back(sharing, std::make_unique<DigestSink>()).second.get();
  };
  STRAKE_CHECK_OK(image.copy_files(paths, open, call));
  std::map<std::string, codec::Digest> digests;
  for (const auto& [sharing, sink] : sinks) {
    const codec::Digest digest = sink->finish();
    for (const std::string& path : sharing) digests.insert_or_assign(path, digest);
  }
  return digests;
}

class Comparison {
 public:
  Comparison(OsImage& before, OsImage& after, const runtime::Call& call)
      : before_(before), after_(after), call_(call) {}

  Result<std::vector<FileDifference>> run() {
    const bool before_moved = keeps_etc_in_usr(before_.tree());
    const bool after_moved = keeps_etc_in_usr(after_.tree());
    const bool mixed = before_moved != after_moved;
    const PathMap left = paths_of(before_.tree(), mixed && before_moved);
    const PathMap right = paths_of(after_.tree(), mixed && after_moved);
    std::vector<CommonPath> common;
    for (const auto& [shown, path] : left) {
      if (const auto other = right.find(shown); other != right.end()) {
        common.push_back({shown, path, other->second});
      } else {
        add(FileDifference::Kind::kRemoved, shown);
      }
    }
    for (const auto& [shown, path] : right) {
      if (!left.contains(shown)) add(FileDifference::Kind::kAdded, shown);
    }
    std::erase_if(common, [&](const CommonPath& path) { return certainly_equal(path); });
    STRAKE_CHECK_OK(load(common));
    STRAKE_CHECK_OK(hash_where_needed(common));
    for (const CommonPath& path : common) {
      std::vector<std::string> what = changes(path);
      if (!what.empty()) add(FileDifference::Kind::kChanged, path.shown, std::move(what));
    }
    std::ranges::sort(found_, {}, &FileDifference::path);
    return std::move(found_);
  }

 private:
  const OsNode& left(const CommonPath& path) const { return *before_.tree().find(path.before); }
  const OsNode& right(const CommonPath& path) const { return *after_.tree().find(path.after); }

  void add(FileDifference::Kind kind, const std::string& path, std::vector<std::string> what = {}) {
    found_.push_back({kind, "/" + path, std::move(what)});
  }

  /// The checksum of a file covers owner, mode and attributes too. That of a folder's list does not, so folders are
  /// looked at.
  bool certainly_equal(const CommonPath& path) const {
    const OsNode& a = left(path);
    const OsNode& b = right(path);
    return !a.is_directory() && !b.is_directory() && a.checksum && a.checksum == b.checksum;
  }

  Status load(const std::vector<CommonPath>& common) {
    std::vector<std::string> of_before;
    std::vector<std::string> of_after;
    for (const CommonPath& path : common) {
      of_before.push_back(path.before);
      of_after.push_back(path.after);
    }
    STRAKE_CHECK_OK(before_.load_details(of_before, call_));
    return after_.load_details(of_after, call_);
  }

  /// Equal in everything a checksum covers besides the content.
  static bool same_header(const OsNode& a, const OsNode& b) {
    return a.mode == b.mode && a.uid == b.uid && a.gid == b.gid && a.xattrs == b.xattrs;
  }

  bool needs_hash(const OsNode& a, const OsNode& b) const {
    if (a.type != NodeType::kFile || b.type != NodeType::kFile || a.size != b.size || a.size == 0) return false;
    if (a.checksum && b.checksum) return !same_header(a, b);
    const auto place = before_.content_place(a);
    return !place || place != after_.content_place(b);
  }

  Status hash_where_needed(const std::vector<CommonPath>& common) {
    std::vector<std::string> of_before;
    std::vector<std::string> of_after;
    for (const CommonPath& path : common) {
      if (!needs_hash(left(path), right(path))) continue;
      of_before.push_back(path.before);
      of_after.push_back(path.after);
    }
    if (of_before.empty()) return {};
    STRAKE_TRY(before_digests_, hash_files(before_, of_before, call_));
    STRAKE_TRY(after_digests_, hash_files(after_, of_after, call_));
    return {};
  }

  bool content_differs(const CommonPath& path) const {
    const OsNode& a = left(path);
    const OsNode& b = right(path);
    if (a.size != b.size) return true;
    if (needs_hash(a, b)) return before_digests_.at(path.before) != after_digests_.at(path.after);
    // Two checksums of one header: what differs is the content.
    return a.checksum && b.checksum && a.checksum != b.checksum && a.size != 0;
  }

  std::vector<std::string> changes(const CommonPath& path) const {
    const OsNode& a = left(path);
    const OsNode& b = right(path);
    if (a.type != b.type) return {fmt::format("{} -> {}", to_string(a.type), to_string(b.type))};
    std::vector<std::string> what;
    if (a.type == NodeType::kFile && content_differs(path)) {
      what.push_back(a.size == b.size ? "content" : fmt::format("content ({} -> {} bytes)", a.size, b.size));
    }
    if (a.link_target != b.link_target) {
      what.push_back(fmt::format("target {} -> {}", visible_line(a.link_target), visible_line(b.link_target)));
    }
    // The mode of a link says nothing, and tools write what they like.
    if (a.mode != b.mode && a.type != NodeType::kSymlink) {
      what.push_back(fmt::format("mode {:04o} -> {:04o}", a.mode, b.mode));
    }
    if (a.uid != b.uid || a.gid != b.gid) {
      what.push_back(fmt::format("owner {}:{} -> {}:{}", a.uid, a.gid, b.uid, b.gid));
    }
    for (const std::string& name : changed_attributes(a, b)) what.push_back("attribute " + visible_line(name));
    return what;
  }

  static std::vector<std::string> changed_attributes(const OsNode& a, const OsNode& b) {
    std::map<std::string, std::string> left;
    std::map<std::string, std::string> right;
    for (const ostree::Xattr& xattr : a.xattrs.get()) left.emplace(xattr.name, xattr.value);
    for (const ostree::Xattr& xattr : b.xattrs.get()) right.emplace(xattr.name, xattr.value);
    if (!a.checksum || !b.checksum) {
      left.erase(std::string(kSelinuxLabel));
      right.erase(std::string(kSelinuxLabel));
    }
    std::vector<std::string> names;
    for (const auto& [name, value] : left) {
      if (const auto other = right.find(name); other == right.end() || other->second != value) names.push_back(name);
    }
    for (const auto& [name, value] : right) {
      if (!left.contains(name)) names.push_back(name);
    }
    return names;
  }

  OsImage& before_;
  OsImage& after_;
  const runtime::Call& call_;
  std::map<std::string, codec::Digest> before_digests_;
  std::map<std::string, codec::Digest> after_digests_;
  std::vector<FileDifference> found_;
};

Result<std::vector<PackageDifference>> compare_packages(OsImage& before, OsImage& after, const runtime::Call& call) {
  STRAKE_TRY(const std::vector<PackageDatabase> left, read_packages(before, call));
  STRAKE_TRY(const std::vector<PackageDatabase> right, read_packages(after, call));
  std::vector<PackageDifference> differences;
  for (const auto system : {packages::PackageSystem::kRpm, packages::PackageSystem::kDpkg}) {
    const auto of_system = [&](const std::vector<PackageDatabase>& databases) -> const PackageDatabase* {
      const auto found = std::ranges::find(databases, system, &PackageDatabase::system);
      return found == databases.end() ? nullptr : &*found;
    };
    const PackageDatabase* a = of_system(left);
    const PackageDatabase* b = of_system(right);
    if (a == nullptr && b == nullptr) continue;
    PackageDifference difference{system};
    for (const PackageDatabase* database : {a, b}) {
      if (database != nullptr && !database->problem.empty()) {
        difference.problem = fmt::format("{}: {}", database->path, database->problem);
        difference.trouble = database->trouble();
      }
    }
    if (difference.problem.empty()) {
      static const std::vector<packages::Package> kNone;
      difference.changes =
          packages::diff_packages(system, a == nullptr ? kNone : a->packages, b == nullptr ? kNone : b->packages);
    }
    differences.push_back(std::move(difference));
  }
  return differences;
}

std::string_view kind_name(FileDifference::Kind kind) {
  switch (kind) {
    case FileDifference::Kind::kAdded: return "added";
    case FileDifference::Kind::kRemoved: return "removed";
    case FileDifference::Kind::kChanged: return "changed";
  }
  return "unknown";
}

char kind_sign(FileDifference::Kind kind) {
  switch (kind) {
    case FileDifference::Kind::kAdded: return '+';
    case FileDifference::Kind::kRemoved: return '-';
    case FileDifference::Kind::kChanged: return '~';
  }
  return '?';
}

json::Array package_array(packages::PackageSystem system, const std::vector<packages::Package>& list) {
  json::Array array;
  for (const packages::Package& package : list) array.emplace_back(packages::identity_text(system, package));
  return array;
}

json::Array change_array(const std::vector<packages::PackageChange>& changes) {
  json::Array array;
  for (const packages::PackageChange& change : changes) {
    array.emplace_back(json::Object{{"name", change.after.name},
                                    {"architecture", change.after.architecture},
                                    {"before", packages::version_text(change.before)},
                                    {"after", packages::version_text(change.after)}});
  }
  return array;
}

void describe_changes(std::string& text, std::string_view sign, const std::vector<packages::PackageChange>& changes) {
  for (const packages::PackageChange& change : changes) {
    text += fmt::format("  {} {}  {} -> {}\n", sign, visible_line(change.after.name),
                        visible_line(packages::version_text(change.before)),
                        visible_line(packages::version_text(change.after)));
  }
}

}  // namespace

bool Difference::any() const {
  return !files.empty() || !kernels_before.empty() || !kernels_after.empty() ||
         std::ranges::any_of(packages, [](const PackageDifference& difference) {
           return !difference.changes.empty() || !difference.problem.empty();
         });
}

Result<Difference> compare_images(OsImage& before, OsImage& after, const CompareOptions& options,
                                  const runtime::Call& call) {
  Difference difference;
  if (options.packages) {
    STRAKE_TRY(difference.packages, compare_packages(before, after, call));
    STRAKE_TRY(difference.kernels_before, read_kernel_versions(before, call));
    STRAKE_TRY(difference.kernels_after, read_kernel_versions(after, call));
    if (difference.kernels_before == difference.kernels_after) {
      difference.kernels_before.clear();
      difference.kernels_after.clear();
    }
  }
  if (options.files) {
    STRAKE_TRY(difference.files, Comparison(before, after, call).run());
  }
  return difference;
}

json::Object difference_json(const Difference& difference) {
  json::Array files;
  for (const FileDifference& file : difference.files) {
    json::Object entry{{"path", file.path}, {"change", std::string(kind_name(file.kind))}};
    if (!file.what.empty()) entry["what"] = json::Array(file.what.begin(), file.what.end());
    files.emplace_back(std::move(entry));
  }
  json::Array packages;
  for (const PackageDifference& system : difference.packages) {
    json::Object entry{{"system", std::string(packages::to_string(system.system))}};
    if (!system.problem.empty()) {
      entry[system.trouble] = system.problem;
    } else {
      entry["added"] = package_array(system.system, system.changes.added);
      entry["removed"] = package_array(system.system, system.changes.removed);
      entry["upgraded"] = change_array(system.changes.upgraded);
      entry["downgraded"] = change_array(system.changes.downgraded);
    }
    packages.emplace_back(std::move(entry));
  }
  json::Object object{{"files", std::move(files)}, {"packages", std::move(packages)}};
  if (!difference.kernels_before.empty() || !difference.kernels_after.empty()) {
    const auto texts = [](const std::vector<std::string>& list) { return json::Array(list.begin(), list.end()); };
    object["kernels"] =
        json::Object{{"before", texts(difference.kernels_before)}, {"after", texts(difference.kernels_after)}};
  }
  return object;
}

std::string describe_difference(const Difference& difference) {
  std::string text;
  if (!difference.kernels_before.empty() || !difference.kernels_after.empty()) {
    const auto shown = [](const std::vector<std::string>& versions) {
      std::string list;
      for (const std::string& version : versions) list += (list.empty() ? "" : ", ") + visible_line(version);
      return list.empty() ? "none" : list;
    };
    text += fmt::format("Kernel: {} -> {}\n", shown(difference.kernels_before), shown(difference.kernels_after));
  }
  for (const PackageDifference& system : difference.packages) {
    if (!system.problem.empty()) {
      text +=
          fmt::format("Packages ({}): {}: {}\n", packages::to_string(system.system), system.trouble, system.problem);
      continue;
    }
    if (system.changes.empty()) continue;
    text += fmt::format("Packages ({}):\n", packages::to_string(system.system));
    const auto list = [&](char sign, const std::vector<packages::Package>& some) {
      for (const packages::Package& package : some) {
        text += fmt::format("  {} {}\n", sign, visible_line(packages::identity_text(system.system, package)));
      }
    };
    list('+', system.changes.added);
    list('-', system.changes.removed);
    describe_changes(text, "up", system.changes.upgraded);
    describe_changes(text, "down", system.changes.downgraded);
  }
  if (!difference.files.empty()) text += "Files:\n";
  for (const FileDifference& file : difference.files) {
    text += fmt::format("  {} {}", kind_sign(file.kind), visible_line(file.path));
    if (!file.what.empty()) text += fmt::format("  ({})", fmt::join(file.what, ", "));
    text += '\n';
  }
  return text;
}

}  // namespace strake::osimage
