#include "oci/image_files.h"

#include "oci/layered_tree.h"
#include "oci/parallel.h"

namespace strake::oci {

namespace {

constexpr std::string_view kLayerIndexKind = "layer-index";
constexpr std::size_t kMaxIndexFileBytes = 256u << 20;
constexpr std::uint64_t kMaxImageFiles = 4'000'000;

using Tree = LayeredTree<ImageFile>;

/// What is left of the limit.
class TextBudget {
 public:
  explicit TextBudget(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}
  Status take(const codec::TarEntry& entry) {
    taken_ += text_bytes(entry);
    if (taken_ <= max_bytes_) return {};
    return error(Code::kExhausted, "the names, links and attributes of the image take more than {} bytes", max_bytes_);
  }

 private:
  std::uint64_t max_bytes_;
  std::uint64_t taken_ = 0;
};

Status add_entry(Tree& tree, const LayerFile& file, std::size_t layer, TextBudget& budget) {
  const std::string& path = file.tar.path;
  if (path == "." || tree.take_marker(path)) return {};
  switch (file.tar.type) {
    case codec::TarEntryType::kDirectory: tree.place_folder(path); break;
    case codec::TarEntryType::kHardLink: {
      STRAKE_TRY(const std::string target, codec::clean_archive_path(file.tar.link_target));
      const ImageFile* found = tree.find(target);
      if (found == nullptr || found->tar.type == codec::TarEntryType::kDirectory) {
        return error(Code::kCorrupt, "it is a hard link to '{}', which is no file of this layer or those below",
                     target);
      }
      STRAKE_CHECK_OK(budget.take(found->tar));
      ImageFile linked = *found;
      linked.tar.path = path;
      if (linked.hard_link_to.empty()) linked.hard_link_to = target;
      tree.place_file(path);
      tree.put(path, std::move(linked));
      return {};
    }
    case codec::TarEntryType::kFile:
    case codec::TarEntryType::kSymlink:
    case codec::TarEntryType::kCharacterDevice:
    case codec::TarEntryType::kBlockDevice:
    case codec::TarEntryType::kFifo: tree.place_file(path); break;
  }
  STRAKE_CHECK_OK(budget.take(file.tar));
  tree.put(path, ImageFile{file.tar, layer, file.tar_offset});
  return {};
}

void add_implied_folders(ImageFiles::Files& files) {
  std::vector<std::string> missing;
  for (const auto& [path, file] : files) {
    for (std::string_view parent = parent_path(path); !parent.empty(); parent = parent_path(parent)) {
      if (files.contains(parent)) break;
      missing.emplace_back(parent);
    }
  }
  for (const std::string& path : missing) {
    ImageFile folder;
    folder.tar.type = codec::TarEntryType::kDirectory;
    folder.tar.path = path;
    folder.tar.mode = 0755;
    files.emplace(path, std::move(folder));
  }
}

}  // namespace

Result<LayerIndex> list_layer(const ImageSource& source, const Descriptor& layer, BlobCache* cache,
                              const runtime::Call& call) {
  if (cache != nullptr) {
    STRAKE_TRY(const auto kept, cache->read_derived(kLayerIndexKind, layer.digest, kMaxIndexFileBytes));
    if (kept) {
      // One that cannot be read was cut by a power loss or is of another version: it is made anew.
      if (Result<LayerIndex> index = decode_layer_index(*kept); index.ok()) return index;
    }
  }
  std::optional<LayerIndex> index;
  STRAKE_CHECK_OK(read_sparingly(source, cache, layer, [&](const ImageSource& from) -> Status {
    STRAKE_TRY(index, read_layer_index(from, layer, call));
    return {};
  }));
  if (cache != nullptr) {
    STRAKE_TRY(const std::string bytes, encode_layer_index(*index));
    // A full cache or disk costs time at the next listing, not the answer of this one.
    Status written = cache->write_derived(kLayerIndexKind, layer.digest, bytes, call);
    if (!written.ok() && written.error().code() != Code::kExhausted) return std::move(written).error();
  }
  return *std::move(index);
}

Result<ImageFiles> ImageFiles::flatten(const std::vector<LayerIndex>& layers, std::uint64_t max_text_bytes) {
  Tree tree;
  std::uint64_t entries = 0;
  TextBudget budget(max_text_bytes);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    entries += layers[i].files.size();
    if (entries > kMaxImageFiles) {
      return error(Code::kExhausted, "the image has more than {} entries in its layers", kMaxImageFiles);
    }
    for (const LayerFile& file : layers[i].files) {
      STRAKE_CHECK_OK(
          add_entry(tree, file, i, budget).context("layer {} of {}: entry '{}'", i + 1, layers.size(), file.tar.path));
    }
    tree.end_layer();
  }
  Files files = std::move(tree).take();
  add_implied_folders(files);
  return ImageFiles(std::move(files));
}

Result<ImageFiles> ImageFiles::read(const ImageSource& source, const Manifest& manifest, const Options& options,
                                    runtime::Runtime& runtime, const runtime::Call& call) {
  STRAKE_TRY(const ImageConfig config, source.read_config(manifest, call));
  std::vector<std::optional<LayerIndex>> indexes(manifest.layers.size());
  STRAKE_CHECK_OK(for_each_in_parallel(
      runtime, options.parallel, indexes.size(), call, [&](std::size_t i, const runtime::Call& own) -> Status {
        const Descriptor& layer = manifest.layers[i];
        STRAKE_TRY_CONTEXT(indexes[i], list_layer(source, layer, options.cache, own), "listing layer {} of {} ({})",
                           i + 1, indexes.size(), layer.digest.to_string());
        // diff ids of another algorithm cannot be compared; images with them are not known.
        if (indexes[i]->diff_id == config.diff_ids[i]) return {};
        return not_genuine("layer {} of {} ({}) unpacks to {}, but the image config says {}", i + 1, indexes.size(),
                           layer.digest.to_string(), indexes[i]->diff_id.to_string(), config.diff_ids[i].to_string());
      }));
  std::vector<LayerIndex> layers;
  layers.reserve(indexes.size());
  for (auto& index : indexes) layers.push_back(*std::move(index));
  return flatten(layers);
}

const ImageFile* ImageFiles::find(std::string_view path) const {
  const auto found = files_.find(path);
  return found == files_.end() ? nullptr : &found->second;
}

}  // namespace strake::oci
