#include "osimage/os_image.h"

#include <deque>

#include <fmt/ranges.h>

#include "oci/layers.h"
#include "osimage/path_pattern.h"

namespace strake::osimage {

namespace {

/// As many as Linux follows.
constexpr int kMaxFollowedLinks = 40;
/// Of all targets: one link may be at very many paths.
constexpr std::uint64_t kMaxLinkBytes = 128u << 20;
/// So many entries of a folder are named when something in it is missing.
constexpr std::size_t kMaxNamedEntries = 20;

}  // namespace

Error OsImage::not_found(std::string_view asked, std::string_view folder, std::string_view missing) const {
  const std::string path = join_path(folder, missing);
  std::string text = fmt::format("the image has no /{}", path);
  std::string_view shown = asked;
  while (shown.starts_with('/')) shown.remove_prefix(1);
  if (shown != path) text += fmt::format(" (asked for: {})", asked);
  const OsNode* node = tree_.find(folder);
  if (node != nullptr && node->is_directory()) {
    if (node->children.empty()) {
      text += fmt::format("; /{} is empty", folder);
    } else if (node->children.size() <= kMaxNamedEntries) {
      std::vector<std::string_view> names;
      for (const auto& [name, child] : node->children) names.push_back(name);
      text += fmt::format("; in /{} there are: {}", folder, fmt::join(names, ", "));
    } else {
      text += fmt::format("; /{} exists and has {} entries", folder, node->children.size());
    }
  }
  return Error(Code::kNotFound, std::move(text));
}

Result<OsImage::Found> OsImage::resolve(std::string_view path, LastLink last, const runtime::Call& call) {
  std::deque<std::string> left;
  codec::prepend_path_parts(left, path);
  // "/bin/" asks for the folder behind a link.
  const bool follow_last = last == LastLink::kFollow || path.ends_with('/');
  // A commit keeps /etc at /usr/etc; links in there are written for the place where it will be.
  const bool etc_moved = tree_.find("etc") == nullptr && tree_.find("usr/etc") != nullptr;
  const auto kept_at = [&](const std::string& deployed) {
    return etc_moved && (deployed == "etc" || deployed.starts_with("etc/")) ? "usr/" + deployed : deployed;
  };
  std::string at;  // as deployed
  int followed = 0;
  while (!left.empty()) {
    const std::string part = std::move(left.front());
    left.pop_front();
    if (part == "..") {
      at = std::string(parent_of(at));
      continue;
    }
    std::string next = join_path(at, part);
    if (etc_moved && next == "usr/etc") next = "etc";
    OsNode* node = tree_.find(kept_at(next));
    if (node == nullptr) return not_found(path, kept_at(at), part);
    const bool is_last = left.empty();
    if (!is_last || follow_last) {
      if (node->type == NodeType::kFileOrSymlink) STRAKE_CHECK_OK(load_nodes({node}, call).context("/{}", next));
      if (node->type == NodeType::kSymlink) {
        if (++followed > kMaxFollowedLinks) {
          return error(Code::kInvalidArgument, "{} leads through more than {} symbolic links", path, kMaxFollowedLinks);
        }
        if (node->link_target.starts_with('/')) at.clear();
        codec::prepend_path_parts(left, node->link_target);
        continue;
      }
    }
    if (!is_last && !node->is_directory()) {
      return error(Code::kNotFound, "the image has no {}: /{} is a {}", path, next, to_string(node->type));
    }
    at = next;
  }
  const std::string kept = kept_at(at);
  return Found{kept, tree_.find(kept)};
}

namespace {

void collect_matches(const PathPattern& pattern, const PathPattern::State& state, const std::string& path,
                     const OsNode& folder, std::vector<OsImage::Found>& found) {
  for (const auto& [name, child] : folder.children) {
    const PathPattern::State next = pattern.step(state, name);
    if (next.empty()) continue;
    std::string child_path = join_path(path, name);
    if (pattern.fits(next)) {
      found.push_back({std::move(child_path), child.get()});
    } else if (child->is_directory()) {
      collect_matches(pattern, next, child_path, *child, found);
    }
  }
}

}  // namespace

Result<std::vector<OsImage::Found>> OsImage::match(std::string_view text, const runtime::Call& call) {
  Result<Found> literally = resolve(text, LastLink::kKeep, call);
  if (literally.ok()) return std::vector<Found>{*std::move(literally)};
  if (literally.error().code() != Code::kNotFound || !looks_like_pattern(text)) return std::move(literally).error();
  STRAKE_TRY(const PathPattern pattern, PathPattern::parse(text));
  // Without parts it is a path whose characters were escaped.
  STRAKE_TRY(Found folder,
             resolve(pattern.folder(), pattern.parts().empty() ? LastLink::kKeep : LastLink::kFollow, call));
  if (pattern.parts().empty()) return std::vector<Found>{std::move(folder)};
  std::vector<Found> found;
  collect_matches(pattern, pattern.start(), folder.path, *folder.node, found);
  if (found.empty()) return error(Code::kNotFound, "nothing in /{} fits {}", folder.path, text);
  return found;
}

Status OsImage::load_nodes(const std::vector<OsNode*>& nodes, const runtime::Call& call) {
  std::map<ostree::Checksum, std::vector<OsNode*>> unknown;
  for (OsNode* node : nodes) {
    if (node->type == NodeType::kFileOrSymlink) unknown[*node->checksum].push_back(node);
  }
  if (unknown.empty()) return {};
  ObjectStore::Wanted wanted;
  for (const auto& [checksum, sharing] : unknown) wanted.insert(checksum);
  STRAKE_CHECK_OK(objects_->find_files(
      std::move(wanted),
      [&](const ostree::Checksum& checksum, const ostree::FileInfo& info) {
        std::vector<OsNode*>& sharing = unknown[checksum];
        link_bytes_ += info.symlink_target.size() * sharing.size();
        if (link_bytes_ <= kMaxLinkBytes) apply_file_info(sharing, info);
      },
      call));
  if (link_bytes_ <= kMaxLinkBytes) return {};
  return error(Code::kExhausted, "the targets of the image's symbolic links take more than {} bytes", kMaxLinkBytes);
}

Status OsImage::load_details(const runtime::Call& call) {
  std::vector<OsNode*> nodes;
  const NodeVisitor collect = [&](const std::string&, const OsNode& node) -> Status {
    nodes.push_back(const_cast<OsNode*>(&node));
    return {};
  };
  STRAKE_CHECK_OK(walk_nodes("", tree_.root(), true, NodeOrder::kByName, collect));
  return load_nodes(nodes, call);
}

Status OsImage::load_details(const std::vector<std::string>& paths, const runtime::Call& call) {
  std::vector<OsNode*> nodes;
  for (const std::string& path : paths) {
    OsNode* node = tree_.find(path);
    if (node == nullptr) return not_found(path, parent_of(path), name_of(path));
    nodes.push_back(node);
  }
  return load_nodes(nodes, call);
}

Status OsImage::copy_files(const std::vector<std::string>& paths, const OpenSink& open, const runtime::Call& call) {
  STRAKE_TRY(const std::vector<std::string> links, copy_files_except_links(paths, open, call));
  if (links.empty()) return {};
  return error(Code::kInvalidArgument, "/{} is a symbolic link, not a file", links.front());
}

Result<std::vector<std::string>> OsImage::copy_files_except_links(const std::vector<std::string>& paths,
                                                                  const OpenSink& open, const runtime::Call& call) {
  std::vector<std::string> links;
  std::map<ostree::Checksum, std::vector<std::string>> objects;
  std::map<LayerPlace, std::vector<std::string>> placed;
  for (const std::string& path : paths) {
    const OsNode* node = tree_.find(path);
    if (node == nullptr) return not_found(path, parent_of(path), name_of(path));
    if (node->type == NodeType::kSymlink) {
      links.push_back(path);
    } else if (node->type != NodeType::kFile && node->type != NodeType::kFileOrSymlink) {
      return error(Code::kInvalidArgument, "/{} is a {}, not a file", path, to_string(node->type));
    } else if (node->place) {
      placed[*node->place].push_back(path);
    } else {
      objects[*node->checksum].push_back(path);
    }
  }
  if (!objects.empty()) {
    ObjectStore::Wanted wanted;
    for (const auto& [checksum, sharing] : objects) wanted.insert(checksum);
    const OpenObjectSink open_object = [&](const ostree::Checksum& checksum,
                                           const ostree::FileInfo& info) -> Result<codec::Sink*> {
      const std::vector<std::string>& sharing = objects.at(checksum);
      std::vector<OsNode*> nodes;
      for (const std::string& path : sharing) nodes.push_back(tree_.find(path));
      apply_file_info(nodes, info);
      if (!info.is_symlink()) return open(sharing);
      links.insert(links.end(), sharing.begin(), sharing.end());
      return static_cast<codec::Sink*>(nullptr);
    };
    STRAKE_CHECK_OK(objects_->copy_files(std::move(wanted), open_object, call));
  }
  STRAKE_CHECK_OK(copy_placed(placed, open, call));
  return links;
}

Status OsImage::copy_placed(const std::map<LayerPlace, std::vector<std::string>>& wanted, const OpenSink& open,
                            const runtime::Call& call) {
  std::map<std::size_t, std::size_t> per_layer;
  for (const auto& [place, paths] : wanted) ++per_layer[place.layer];
  for (const auto& counted : per_layer) {
    const std::size_t layer = counted.first;
    const std::size_t expected = counted.second;
    std::size_t found = 0;
    const oci::LayerVisitor pick = [&](const oci::LayerEntry& entry) -> Result<oci::AfterEntry> {
      const auto match = wanted.find({layer, entry.tar_offset});
      if (match == wanted.end() || entry.tar.type != codec::TarEntryType::kFile) return oci::AfterEntry::kGoOn;
      STRAKE_TRY(codec::Sink* const sink, open(match->second));
      if (sink != nullptr) {
        STRAKE_TRY_CONTEXT([[maybe_unused]] const std::uint64_t copied, codec::copy(entry.content, *sink), "/{}",
                           match->second.front());
      }
      return ++found == expected ? oci::AfterEntry::kEnough : oci::AfterEntry::kGoOn;
    };
    const oci::Descriptor& descriptor = manifest_->layers[layer];
    const auto show = [&](codec::Source& tar) -> Status {
      found = 0;  // from the start again, when the first place delivered something else
      return oci::visit_tar(tar, pick);
    };
    const auto read = [&](const oci::ImageSource& source) {
      return oci::read_layer(source, descriptor, show, call)
          .context("reading {}", layer_name({layer, descriptor, descriptor.digest}, manifest_->layers.size()));
    };
    STRAKE_CHECK_OK(oci::read_sparingly(*source_, cache_, descriptor, read));
    if (found != expected) {
      return error(Code::kInternal,
                   "{} of {} files are not where the index of layer {} says; try again with --no-cache",
                   expected - found, expected, layer + 1);
    }
  }
  return {};
}

std::optional<std::pair<codec::Digest, std::uint64_t>> OsImage::content_place(const OsNode& node) const {
  if (!node.place) return std::nullopt;
  return std::pair(manifest_->layers[node.place->layer].digest, node.place->tar_offset);
}

Result<std::string> OsImage::read_file(const std::string& path, std::size_t max_bytes, const runtime::Call& call) {
  std::optional<codec::StringSink> sink;
  const OpenSink open = [&](const std::vector<std::string>&) -> Result<codec::Sink*> {
    return &sink.emplace(max_bytes);
  };
  STRAKE_CHECK_OK(copy_files({path}, open, call).context("/{}", path));
  return std::move(*sink).take();
}

}  // namespace strake::osimage
