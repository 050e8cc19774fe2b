#include "oci/layers.h"

#include <vector>

#include "oci/layered_tree.h"

namespace strake::oci {

namespace {

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
      tree_.end_layer();
      layer_ = entry.layer;
    }
    if (tree_.take_marker(entry.path)) return {};
    if (entry.tar.type == codec::TarEntryType::kDirectory) {
      tree_.place_folder(entry.path);
      return {};
    }
    tree_.place_file(entry.path);
    if (!wanted_(entry.path)) return {};
    if (entry.tar.type == codec::TarEntryType::kFile) return add_file(entry);
    if (entry.tar.type == codec::TarEntryType::kHardLink) return add_hard_link(entry);
    return {};
  }

  std::map<std::string, std::string> take() && {
    auto files = std::move(tree_).take();
    std::map<std::string, std::string> result;
    for (auto& [path, text] : files) result.emplace_hint(result.end(), path, std::move(text));
    return result;
  }

 private:
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
    if (const std::string* found = tree_.find(target)) return keep(entry.path, *found);
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
    tree_.put(path, std::move(text));
    return {};
  }

  const std::function<bool(std::string_view)>& wanted_;
  const FileLimits& limits_;
  std::size_t layer_ = 0;
  LayeredTree<std::string> tree_;
  std::size_t total_files_ = 0;
  std::uint64_t total_bytes_ = 0;
};

}  // namespace

bool is_layer_type(std::string_view type) {
  return type == media_type::kOciLayer || type == media_type::kOciLayerGzip || type == media_type::kOciLayerZstd ||
         type == media_type::kDockerLayer || type == media_type::kDockerLayerGzip;
}

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
