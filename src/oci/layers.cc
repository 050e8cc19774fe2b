#include "oci/layers.h"

#include <set>
#include <vector>

namespace strake::oci {

namespace {

constexpr std::string_view kWhiteoutPrefix = ".wh.";
constexpr std::string_view kOpaqueMarker = ".wh..wh..opq";

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

/// "a/b" of "a/b/c"; "" for the root's own entries.
std::string_view parent_path(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string join_path(std::string_view parent, std::string_view name) {
  return parent.empty() ? std::string(name) : fmt::format("{}/{}", parent, name);
}

bool is_layer_type(std::string_view type) {
  return type == media_type::kOciLayer || type == media_type::kOciLayerGzip || type == media_type::kOciLayerZstd ||
         type == media_type::kDockerLayer || type == media_type::kDockerLayerGzip;
}

Status visit_layer(const ImageSource& source, const Descriptor& layer, std::size_t number, const LayerVisitor& visit,
                   const LayerLimits& limits) {
  if (!is_layer_type(layer.media_type)) {
    return error(Code::kUnsupported, "media type {} is not a file tree this program reads", layer.media_type);
  }
  STRAKE_CHECK_OK(source.verify_blob(layer));
  STRAKE_TRY(const std::unique_ptr<BlobSource> blob, source.open_blob(layer));
  // By magic number, as every runtime does: old tools recorded gzip for layers they did not compress.
  STRAKE_TRY(const std::unique_ptr<codec::Source> tar, codec::make_detecting_decompressor(*blob, limits.decompress));
  codec::TarReader reader(*tar, limits.tar);
  for (;;) {
    STRAKE_TRY(const std::optional<codec::TarEntry> entry, reader.next());
    if (!entry) break;
    STRAKE_TRY_CONTEXT(std::string path, codec::clean_archive_path(entry->path), "entry '{}'", entry->path);
    STRAKE_CHECK_OK(visit(LayerEntry{number, std::move(path), *entry, reader.content()}));
  }
  return blob->finish();
}

/// The wanted files of the layers so far, as a file tree would hold them.
class FileView {
 public:
  FileView(const std::function<bool(std::string_view)>& wanted, const FileLimits& limits)
      : wanted_(wanted), limits_(limits) {}

  Status add(const LayerEntry& entry) {
    if (entry.layer != layer_) {
      merge_layer();
      layer_ = entry.layer;
    }
    const std::string_view name = base_name(entry.path);
    const std::string_view parent = parent_path(entry.path);
    if (name == kOpaqueMarker) {
      opaque_.insert(std::string(parent));
      return {};
    }
    if (name.starts_with(kWhiteoutPrefix)) {
      removed_.insert(join_path(parent, name.substr(kWhiteoutPrefix.size())));
      return {};
    }
    if (entry.tar.type == codec::TarEntryType::kDirectory) {
      // A folder keeps what lies in it, but takes the place of a file.
      replaced_files_.insert(entry.path);
      added_.erase(entry.path);
      return {};
    }
    // Anything that is not a folder takes the place of whatever was there, a folder and its content included.
    removed_.insert(entry.path);
    erase_tree(added_, entry.path);
    if (!wanted_(entry.path)) return {};
    if (entry.tar.type == codec::TarEntryType::kFile) return add_file(entry);
    if (entry.tar.type == codec::TarEntryType::kHardLink) return add_hard_link(entry);
    return {};
  }

  std::map<std::string, std::string> take() && {
    merge_layer();
    return std::move(files_);
  }

 private:
  using Files = std::map<std::string, std::string>;

  Status add_file(const LayerEntry& entry) {
    if (entry.tar.size > limits_.max_file_bytes) {
      return error(Code::kExhausted, "{} has {} bytes, more than the {} a reader accepts", entry.path, entry.tar.size,
                   limits_.max_file_bytes);
    }
    STRAKE_TRY_CONTEXT(std::string text, codec::read_all(entry.content, limits_.max_file_bytes), "{}", entry.path);
    return keep(entry.path, std::move(text));
  }

  Status add_hard_link(const LayerEntry& entry) {
    STRAKE_TRY_CONTEXT(const std::string target, codec::clean_archive_path(entry.tar.link_target), "{}", entry.path);
    // A link's target is earlier in the same archive, or in a layer below.
    for (const Files* files : {&added_, &files_}) {
      if (const auto found = files->find(target); found != files->end()) return keep(entry.path, found->second);
    }
    return error(Code::kUnsupported, "{} is a hard link to {}, which is not among the files asked for", entry.path,
                 target);
  }

  /// The total counts every version ever read, replaced ones too: an image must not make us read without bound.
  Status keep(const std::string& path, std::string text) {
    total_bytes_ += text.size();
    if (++total_files_ > limits_.max_files || total_bytes_ > limits_.max_total_bytes) {
      return error(Code::kExhausted, "{}: more than {} files or {} bytes are asked for", path, limits_.max_files,
                   limits_.max_total_bytes);
    }
    added_[path] = std::move(text);
    return {};
  }

  /// Whiteouts speak about the layers below, never about their own, wherever in the archive they stand.
  void merge_layer() {
    for (const std::string& folder : opaque_) erase_below(files_, folder);
    for (const std::string& path : removed_) erase_tree(files_, path);
    for (const std::string& path : replaced_files_) files_.erase(path);
    for (auto& [path, text] : added_) files_[path] = std::move(text);
    opaque_.clear();
    removed_.clear();
    replaced_files_.clear();
    added_.clear();
  }

  static void erase_tree(Files& files, const std::string& path) {
    files.erase(path);
    erase_below(files, path);
  }

  static void erase_below(Files& files, const std::string& folder) {
    if (folder.empty()) {
      files.clear();
      return;
    }
    const std::string prefix = folder + "/";
    auto it = files.lower_bound(prefix);
    while (it != files.end() && it->first.starts_with(prefix)) it = files.erase(it);
  }

  const std::function<bool(std::string_view)>& wanted_;
  const FileLimits& limits_;
  std::size_t layer_ = 0;
  Files files_;  ///< of the layers below the present one
  Files added_;  ///< by the present layer, as everything below
  std::set<std::string> opaque_;
  std::set<std::string> removed_;
  std::set<std::string> replaced_files_;
  std::size_t total_files_ = 0;
  std::uint64_t total_bytes_ = 0;
};

}  // namespace

Status verify_layers(const ImageSource& source, const Manifest& manifest) {
  for (std::size_t i = 0; i < manifest.layers.size(); ++i) {
    STRAKE_CHECK_OK(
        source.verify_blob(manifest.layers[i]).context("verifying layer {} of {}", i + 1, manifest.layers.size()));
  }
  return {};
}

Status for_each_layer_entry(const ImageSource& source, const Manifest& manifest, const LayerVisitor& visit,
                            const LayerLimits& limits) {
  for (std::size_t i = 0; i < manifest.layers.size(); ++i) {
    STRAKE_CHECK_OK(visit_layer(source, manifest.layers[i], i, visit, limits)
                        .context("reading layer {} of {} ({})", i + 1, manifest.layers.size(),
                                 manifest.layers[i].digest.to_string()));
  }
  return {};
}

Result<std::map<std::string, std::string>> read_files(const ImageSource& source, const Manifest& manifest,
                                                      const std::function<bool(std::string_view path)>& wanted,
                                                      const FileLimits& limits) {
  FileView view(wanted, limits);
  STRAKE_CHECK_OK(for_each_layer_entry(source, manifest, [&](const LayerEntry& entry) { return view.add(entry); }));
  return std::move(view).take();
}

}  // namespace strake::oci
