// LayeredTree: what a stack of layers leaves of a file tree, by the rules of whiteouts and opaque folders. Private to
// this module.
//
// Layers are added lowest first. Whiteouts speak about the layers below, never about their own, wherever in the archive
// they stand; so a layer is collected apart and merged when it is complete.
#pragma once

#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace strake::oci {

inline constexpr std::string_view kWhiteoutPrefix = ".wh.";
inline constexpr std::string_view kOpaqueMarker = ".wh..wh..opq";

/// "a/b" of "a/b/c"; "" for the root's own entries.
inline std::string_view parent_path(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

inline std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

template <typename Node>
class LayeredTree {
 public:
  using Nodes = std::map<std::string, Node, std::less<>>;

  /// True when the entry is a marker; it is then dealt with.
  bool take_marker(std::string_view path) {
    const std::string_view name = base_name(path);
    if (!name.starts_with(kWhiteoutPrefix)) return false;
    const std::string_view parent = parent_path(path);
    if (name == kOpaqueMarker) {
      opaque_.emplace(parent);
    } else {
      std::string hidden(parent);
      if (!hidden.empty()) hidden += '/';
      hidden += name.substr(kWhiteoutPrefix.size());
      removed_.insert(std::move(hidden));
    }
    return true;
  }

  /// A folder keeps what lies in it, but takes the place of a file.
  void place_folder(const std::string& path) {
    if (below_.contains(path)) replaced_files_.insert(path);
    added_.erase(path);
  }

  /// Anything that is not a folder takes the place of whatever was there, a folder and its content included.
  void place_file(const std::string& path) {
    if (begins_there(below_, path)) removed_.insert(path);
    erase_tree(added_, path);
  }

  void put(const std::string& path, Node node) { added_.insert_or_assign(path, std::move(node)); }

  /// Where a hard link may lead: earlier in the same archive, or in a layer below.
  const Node* find(std::string_view path) const {
    for (const Nodes* nodes : {&added_, &below_}) {
      if (const auto found = nodes->find(path); found != nodes->end()) return &found->second;
    }
    return nullptr;
  }

  void end_layer() {
    for (const std::string& folder : opaque_) erase_below(below_, folder);
    for (const std::string& path : removed_) erase_tree(below_, path);
    for (const std::string& path : replaced_files_) below_.erase(path);
    // What the layer has again takes the place of what was there; nodes move without being copied.
    for (auto it = added_.begin(); it != added_.end();) {
      auto next = std::next(it);
      auto placed = below_.insert(added_.extract(it));
      if (!placed.inserted) placed.position->second = std::move(placed.node.mapped());
      it = next;
    }
    opaque_.clear();
    removed_.clear();
    replaced_files_.clear();
    added_.clear();
  }

  Nodes take() && {
    end_layer();
    return std::move(below_);
  }

 private:
  /// Whether a name begins like this one: almost always not, and then nothing has to be removed.
  static bool begins_there(const Nodes& nodes, const std::string& path) {
    const auto it = nodes.lower_bound(path);
    return it != nodes.end() && it->first.starts_with(path);
  }

  static void erase_tree(Nodes& nodes, const std::string& path) {
    if (!begins_there(nodes, path)) return;
    nodes.erase(path);
    erase_below(nodes, path);
  }

  static void erase_below(Nodes& nodes, const std::string& folder) {
    if (folder.empty()) {
      nodes.clear();
      return;
    }
    const std::string prefix = folder + "/";
    auto it = nodes.lower_bound(prefix);
    while (it != nodes.end() && it->first.starts_with(prefix)) it = nodes.erase(it);
  }

  Nodes below_;  ///< of the layers below the present one
  Nodes added_;  ///< by the present layer, as everything that follows
  std::set<std::string> opaque_;
  std::set<std::string> removed_;
  std::set<std::string> replaced_files_;
};

}  // namespace strake::oci
