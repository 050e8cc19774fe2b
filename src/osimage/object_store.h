// ObjectStore: the ostree objects behind an OS, be they in the layers of an image or in a repository on disk.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "oci/blob_cache.h"
#include "osimage/object_layer.h"
#include "ostree/repository.h"
#include "ostree/tree.h"

namespace strake::osimage {

class ObjectStore : public ostree::MetadataSource {
 public:
  using Wanted = std::set<ostree::Checksum>;
  using OnInfo = std::function<void(const ostree::Checksum&, const ostree::FileInfo&)>;

  /// What these files are. kNotFound names one that is nowhere.
  virtual Status find_files(Wanted wanted, const OnInfo& on_info, const runtime::Call& call) = 0;
  /// The content of these files; each is asked a sink for once, when its content comes. Counts only on success.
  virtual Status copy_files(Wanted wanted, const OpenObjectSink& open, const runtime::Call& call) = 0;
};

class RepositoryObjects final : public ObjectStore {
 public:
  explicit RepositoryObjects(ostree::Repository repository) : repository_(std::move(repository)) {}
  Result<std::string> load_metadata(ostree::ObjectType type, const ostree::Checksum& checksum) const override {
    return repository_.load_metadata(type, checksum);
  }
  Status find_files(Wanted wanted, const OnInfo& on_info, const runtime::Call& call) override;
  Status copy_files(Wanted wanted, const OpenObjectSink& open, const runtime::Call& call) override;

 private:
  ostree::Repository repository_;
};

/// One layer of an image and what its config promises about it.
struct LayerPromise {
  std::size_t number = 0;  ///< in the image; 0 is the lowest
  oci::Descriptor descriptor;
  codec::Digest diff_id;
};

/// "layer 2 of 7 (sha256:...)"
std::string layer_name(const LayerPromise& layer, std::size_t total);

/// Objects are looked up layer by layer, and no layer is read before it is needed. What a layer holds is kept in the
/// cache: the next time only content is read.
class LayerObjects final : public ObjectStore {
 public:
  struct Origin {
    const oci::ImageSource& source;
    oci::BlobCache* cache = nullptr;
    runtime::Runtime& runtime;
  };
  LayerObjects(Origin origin, ObjectLayerForm form, std::vector<LayerPromise> layers, std::size_t layers_in_image);

  /// Everything but files comes from here: `first` layers (at least one), read when they were not yet.
  Status load_metadata_layers(std::size_t first, const runtime::Call& call);
  /// Of those layers.
  std::vector<ostree::Checksum> commits() const;
  std::map<std::string, std::string> texts() const;

  Result<std::string> load_metadata(ostree::ObjectType type, const ostree::Checksum& checksum) const override;
  Status find_files(Wanted wanted, const OnInfo& on_info, const runtime::Call& call) override;
  Status copy_files(Wanted wanted, const OpenObjectSink& open, const runtime::Call& call) override;

 private:
  /// From memory or the cache; nullptr when the layer has to be read.
  Result<const ObjectLayer*> known(std::size_t layer) const;
  Result<const ObjectLayer*> load(std::size_t layer, const OpenObjectSink& open, const runtime::Call& call);
  Status keep(std::size_t layer, ObjectLayer objects) const;
  Status read_in_parallel(const runtime::Call& call);

  Origin origin_;
  ObjectLayerForm form_;
  std::vector<LayerPromise> layers_;
  std::size_t layers_in_image_;
  std::size_t metadata_layers_ = 0;
  mutable std::vector<std::unique_ptr<const ObjectLayer>> objects_;
};

}  // namespace strake::osimage
