#include "osimage/object_store.h"

#include "oci/parallel.h"

namespace strake::osimage {

namespace {

constexpr std::size_t kMaxObjectLayerFileBytes = 512u << 20;
constexpr unsigned kParallelLayers = 4;
/// A few files are looked for layer by layer until they are found; many are everywhere, so all layers are read at once.
constexpr std::size_t kManyFiles = 256;

std::string_view cache_kind(ObjectLayerForm form) {
  switch (form) {
    case ObjectLayerForm::kNative: return "ostree-layer";
    case ObjectLayerForm::kArchiveRepository: return "ostree-archive-layer";
  }
  return "unknown";
}

}  // namespace

std::string layer_name(const LayerPromise& layer, std::size_t total) {
  return fmt::format("layer {} of {} ({})", layer.number + 1, total, layer.descriptor.digest.to_string());
}

Status RepositoryObjects::find_files(Wanted wanted, const OnInfo& on_info, const runtime::Call&) {
  for (const ostree::Checksum& checksum : wanted) {
    STRAKE_TRY(const ostree::FileInfo info, repository_.read_file_info(checksum));
    on_info(checksum, info);
  }
  return {};
}

Status RepositoryObjects::copy_files(Wanted wanted, const OpenObjectSink& open, const runtime::Call&) {
  for (const ostree::Checksum& checksum : wanted) {
    STRAKE_TRY(const ostree::FileInfo info, repository_.read_file_info(checksum));
    STRAKE_TRY(codec::Sink* const sink, open(checksum, info));
    if (sink != nullptr) STRAKE_CHECK_OK(repository_.copy_file(checksum, *sink));
  }
  return {};
}

LayerObjects::LayerObjects(Origin origin, ObjectLayerForm form, std::vector<LayerPromise> layers,
                           std::size_t layers_in_image)
    : origin_(origin),
      form_(form),
      layers_(std::move(layers)),
      layers_in_image_(layers_in_image),
      objects_(layers_.size()) {}

Status LayerObjects::keep(std::size_t layer, ObjectLayer objects) const {
  const LayerPromise& promise = layers_[layer];
  if (objects.diff_id != promise.diff_id) {
    return not_genuine("{} unpacks to {}, but the image config says {}", layer_name(promise, layers_in_image_),
                       objects.diff_id.to_string(), promise.diff_id.to_string());
  }
  objects_[layer] = std::make_unique<const ObjectLayer>(std::move(objects));
  return {};
}

Result<const ObjectLayer*> LayerObjects::known(std::size_t layer) const {
  if (!objects_[layer] && origin_.cache != nullptr) {
    STRAKE_TRY(const auto kept, origin_.cache->read_derived(cache_kind(form_), layers_[layer].descriptor.digest,
                                                            kMaxObjectLayerFileBytes));
    if (kept) {
      // One that cannot be read was cut by a power loss or is of another version: it is made anew.
      if (Result<ObjectLayer> objects = decode_object_layer(*kept); objects.ok()) {
        STRAKE_CHECK_OK(keep(layer, *std::move(objects)));
      }
    }
  }
  return static_cast<const ObjectLayer*>(objects_[layer].get());
}

Result<const ObjectLayer*> LayerObjects::load(std::size_t layer, const OpenObjectSink& open,
                                              const runtime::Call& call) {
  STRAKE_TRY(const ObjectLayer* objects, known(layer));
  if (objects != nullptr) return objects;
  const LayerPromise& promise = layers_[layer];
  const auto read = [&](const oci::ImageSource& source) -> Status {
    STRAKE_TRY_CONTEXT(ObjectLayer scanned, read_object_layer(source, promise.descriptor, form_, open, call),
                       "reading {}", layer_name(promise, layers_in_image_));
    return keep(layer, std::move(scanned));
  };
  STRAKE_CHECK_OK(oci::read_sparingly(origin_.source, origin_.cache, promise.descriptor, read));
  if (origin_.cache != nullptr) {
    STRAKE_TRY(const std::string bytes, encode_object_layer(*objects_[layer]));
    // A full cache or disk costs time at the next listing, not the answer of this one.
    Status written = origin_.cache->write_derived(cache_kind(form_), promise.descriptor.digest, bytes, call);
    if (!written.ok() && written.error().code() != Code::kExhausted) return std::move(written).error();
  }
  return static_cast<const ObjectLayer*>(objects_[layer].get());
}

Status LayerObjects::load_metadata_layers(std::size_t first, const runtime::Call& call) {
  for (std::size_t i = 0; i < first; ++i) {
    STRAKE_TRY([[maybe_unused]] const ObjectLayer* const loaded, load(i, {}, call));
  }
  metadata_layers_ = first;
  return {};
}

std::vector<ostree::Checksum> LayerObjects::commits() const {
  std::set<ostree::Checksum> commits;
  for (std::size_t i = 0; i < metadata_layers_; ++i) {
    for (const auto& [key, bytes] : objects_[i]->metadata) {
      if (key.first == ostree::ObjectType::kCommit) commits.insert(key.second);
    }
  }
  return {commits.begin(), commits.end()};
}

std::map<std::string, std::string> LayerObjects::texts() const {
  std::map<std::string, std::string> texts;
  for (std::size_t i = 0; i < metadata_layers_; ++i) {
    for (const auto& [path, text] : objects_[i]->texts) texts.insert_or_assign(path, text);
  }
  return texts;
}

Result<std::string> LayerObjects::load_metadata(ostree::ObjectType type, const ostree::Checksum& checksum) const {
  for (std::size_t i = 0; i < metadata_layers_; ++i) {
    const auto found = objects_[i]->metadata.find({type, checksum});
    if (found != objects_[i]->metadata.end()) return found->second;
  }
  return error(Code::kNotFound, "{} object {} is missing in the image", ostree::to_string(type), checksum.hex());
}

Status LayerObjects::read_in_parallel(const runtime::Call& call) {
  return oci::for_each_in_parallel(origin_.runtime, kParallelLayers, layers_.size(), call,
                                   [this](std::size_t i, const runtime::Call& own) -> Status {
                                     STRAKE_TRY([[maybe_unused]] const ObjectLayer* const loaded, load(i, {}, own));
                                     return {};
                                   });
}

Status LayerObjects::find_files(Wanted wanted, const OnInfo& on_info, const runtime::Call& call) {
  if (wanted.size() >= kManyFiles) STRAKE_CHECK_OK(read_in_parallel(call));
  for (std::size_t i = 0; i < layers_.size() && !wanted.empty(); ++i) {
    STRAKE_TRY(const ObjectLayer* const objects, load(i, {}, call));
    std::erase_if(wanted, [&](const ostree::Checksum& checksum) {
      const auto found = objects->files.find(checksum);
      if (found == objects->files.end()) return false;
      on_info(checksum, found->second);
      return true;
    });
  }
  if (wanted.empty()) return {};
  return error(Code::kNotFound, "file object {} is in none of the image's layers", wanted.begin()->hex());
}

Status LayerObjects::copy_files(Wanted wanted, const OpenObjectSink& open, const runtime::Call& call) {
  // Only a layer that was right takes something off the list: of another one the same may have to be read again.
  Wanted taken;
  const OpenObjectSink open_wanted = [&](const ostree::Checksum& checksum,
                                         const ostree::FileInfo& info) -> Result<codec::Sink*> {
    if (!wanted.contains(checksum)) return static_cast<codec::Sink*>(nullptr);
    taken.insert(checksum);
    return open(checksum, info);
  };
  const auto take_off = [&] {
    for (const ostree::Checksum& checksum : taken) wanted.erase(checksum);
    taken.clear();
  };
  for (std::size_t i = 0; i < layers_.size() && !wanted.empty(); ++i) {
    STRAKE_TRY(const ObjectLayer* const objects, known(i));
    if (objects == nullptr) {
      STRAKE_TRY([[maybe_unused]] const ObjectLayer* const loaded, load(i, open_wanted, call));
      take_off();
      continue;
    }
    const bool here = std::any_of(wanted.begin(), wanted.end(),
                                  [&](const auto& checksum) { return objects->files.contains(checksum); });
    if (!here) continue;
    const LayerPromise& promise = layers_[i];
    const auto copy = [&](const oci::ImageSource& source) {
      return copy_layer_objects(source, promise.descriptor, form_, open_wanted, call)
          .context("reading {}", layer_name(promise, layers_in_image_));
    };
    STRAKE_CHECK_OK(oci::read_sparingly(origin_.source, origin_.cache, promise.descriptor, copy));
    take_off();
  }
  if (wanted.empty()) return {};
  return error(Code::kNotFound, "file object {} is in none of the image's layers", wanted.begin()->hex());
}

}  // namespace strake::osimage
