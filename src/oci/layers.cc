#include "oci/layers.h"

#include <vector>

#include "oci/image_files.h"

namespace strake::oci {

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

Status visit_tar(codec::Source& tar, const LayerVisitor& visit, const codec::TarLimits& limits) {
  codec::TarReader reader(tar, limits);
  for (;;) {
    STRAKE_TRY(std::optional<codec::TarEntry> entry, reader.next());
    if (!entry) return {};
    STRAKE_TRY_CONTEXT(entry->path, codec::clean_archive_path(entry->path), "entry '{}'", entry->path);
    STRAKE_TRY(const AfterEntry after, visit(LayerEntry{*entry, reader.offset(), reader.content()}));
    if (after == AfterEntry::kEnough) return {};
  }
}

Status read_layer(const ImageSource& source, const Descriptor& layer,
                  const std::function<Status(codec::Source& tar)>& read, const runtime::Call& call,
                  const codec::DecompressLimits& limits) {
  if (!is_layer_type(layer.media_type)) {
    return error(Code::kUnsupported, "media type {} is not a file tree this program reads", layer.media_type);
  }
  Status outcome;
  const auto attempt = [&]() -> Status {
    STRAKE_TRY(const std::unique_ptr<BlobSource> blob, source.open_blob(layer, call));
    const auto read_plain = [&]() -> Status {
      // By magic number, as every runtime does: old tools recorded gzip for layers they did not compress.
      STRAKE_TRY(const std::unique_ptr<codec::Source> tar, codec::make_detecting_decompressor(*blob, limits));
      return read(*tar);
    };
    outcome = read_plain();
    // Damage that a decompressor or a tar reader met first is mostly that of the blob: say the cause, not the symptom.
    if (outcome.ok() || outcome.error().code() == Code::kCorrupt) return blob->finish();
    return {};
  };
  STRAKE_CHECK_OK(source.read_anywhere(layer, attempt));
  return outcome;
}

Result<std::map<std::string, std::string>> read_files(const ImageSource& source, const Manifest& manifest,
                                                      const std::function<bool(std::string_view path)>& wanted,
                                                      const FileLimits& limits, const runtime::Call& call) {
  std::vector<LayerIndex> layers;
  for (const Descriptor& layer : manifest.layers) {
    STRAKE_TRY_CONTEXT(LayerIndex index, read_layer_index(source, layer, call), "reading layer {} of {} ({})",
                       layers.size() + 1, manifest.layers.size(), layer.digest.to_string());
    layers.push_back(std::move(index));
  }
  STRAKE_TRY(const ImageFiles files, ImageFiles::flatten(layers));
  std::vector<std::string> paths;
  for (const auto& [path, file] : files.files()) {
    if (file.tar.type == codec::TarEntryType::kFile && wanted(path)) paths.push_back(path);
  }
  return files.read_files({source, manifest}, paths, SymbolicLinks::kKeep, limits, call);
}

}  // namespace strake::oci
