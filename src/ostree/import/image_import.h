// From a container image to a commit an ostree sysroot can deploy: objects, the commit of each layer, the merge commit
// and the refs, as the ostree container stack, bootc and rpm-ostree write and read them.
//
//   ostree-native   the image's own commit is imported object by object, each compared with its checksum; derived
//   layers
//                   are merged on top
//   plain, bootc    every layer is a derived one
//
// What a layer's digest, the uncompressed digest, the label of the commit and the objects' checksums promise is all
// checked before a ref is written, so a wrong bit anywhere leaves the repository as it was but for objects nobody
// refers to. Merging happens in memory (folder_tree.h), never in a checkout: no link of an image is ever followed.
//
// A layer is read once, as a stream; memory holds the metadata of the tree, never content.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codec/stream.h"
#include "ostree/import/import_plan.h"
#include "ostree/repository_writer.h"

namespace strake::ostree {

/// Where the layers of the image come from.
class LayerSource {
 public:
  virtual ~LayerSource() = default;
  /// Gives the uncompressed tar of a layer to `read`. Success means that the layer's bytes had the digest its manifest
  /// has for it; `read` may be called again, from the start, when one place delivered something else.
  virtual Status read_layer(std::size_t number, const std::function<Status(codec::Source& tar)>& read) = 0;
};

struct ImportOptions {
  ContainerReference reference;
  /// For repositories of an ordinary user; see owner_mapping.h.
  std::optional<OwnerMapping> owner{};
  /// The time of the merge commit where the image says none.
  std::chrono::system_clock::time_point now{};
};

struct ImportReport {
  Checksum merge_commit;
  std::optional<Checksum> base_commit{};   ///< as it lies in the repository; nullopt: a plain image
  std::optional<Checksum> image_commit{};  ///< as the image promised it; another one only with an owner mapping
  bool was_present = false;                ///< nothing was read or written
  std::vector<std::size_t> layers_read{};
  std::map<std::string, std::size_t> dropped{};  ///< what has no place in an OS, by name, of the layers that were read
  /// The tree has an SELinux policy: files of derived layers carry no labels yet.
  bool has_selinux_policy = false;
};

Result<ImportReport> import_image(RepositoryWriter& writer, const ImageDescription& image, LayerSource& layers,
                                  const ImportOptions& options);

/// What a merge commit says about the image it was made of.
struct ImportedImage {
  Checksum merge_commit;
  std::string manifest_digest;
  std::string manifest;  ///< JSON, as the config
  std::string config;
  /// Whether this importer made it.
  bool checked = false;
};
/// nullopt: there is no such image. kCorrupt: the ref leads to a commit of something else.
Result<std::optional<ImportedImage>> find_imported_image(const Repository& repository,
                                                         const ContainerReference& reference);

/// Removes the refs of layers that no image needs any more; `ostree prune` then frees their objects. Images are those
/// of image refs and of the commits under `ostree/0`, `ostree/1`, `rpmostree/base` and `ostree/container/baseimage`,
/// which deployments keep. Answers the names removed.
Result<std::vector<std::string>> remove_unused_layers(RepositoryWriter& writer);

}  // namespace strake::ostree
