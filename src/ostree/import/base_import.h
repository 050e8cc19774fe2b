// The commit that an ostree-native image carries, imported from its layers. Private to this folder.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "ostree/object_layer.h"
#include "ostree/owner_mapping.h"
#include "ostree/repository_writer.h"
#include "ostree/tree.h"

namespace strake::ostree {

/// Collects the objects of an image's layers: files go into the repository as they come, the rest waits until the whole
/// commit is known to be there.
class BaseImport final : public MetadataSource {
 public:
  BaseImport(RepositoryWriter& writer, std::optional<OwnerMapping> owner) : writer_(writer), owner_(owner) {}

  /// Of the commit layer, whose only commit has to be `promised`. What an earlier call read is forgotten.
  Status read_commit_layer(codec::Source& tar, const Checksum& promised);
  /// Answers the commit that lists the layer's objects, as the ostree container stack keeps them.
  Result<Checksum> read_chunk(codec::Source& tar);
  /// The objects of a chunk that was read for an earlier image.
  Status know_chunk(const Checksum& chunk_commit);

  /// Once every layer was read: each folder and file of the commit must have come from one of them. Writes the folders
  /// and the commit; answers the latter, which is `promised` unless owners are mapped.
  Result<Checksum> finish(const Checksum& promised);

  Result<std::string> load_metadata(ObjectType type, const Checksum& checksum) const override;

 private:
  friend class LayerFiles;

  struct WrittenFolder {
    Checksum contents;
    std::uint64_t entries = 0;  ///< below it, however often
  };
  Result<WrittenFolder> write_folder(const Checksum& contents, std::size_t depth);
  Result<Checksum> write_meta(const Checksum& meta);

  RepositoryWriter& writer_;
  std::optional<OwnerMapping> owner_;
  std::map<std::pair<ObjectType, Checksum>, std::string> metadata_;
  std::string detached_;
  /// The image's checksum and that of what was stored.
  std::map<Checksum, Checksum> commit_layer_files_;
  std::map<Checksum, Checksum> chunk_files_;
  std::map<Checksum, WrittenFolder> folders_;
  std::map<Checksum, Checksum> metas_;
};

/// Hashes everything a commit of the repository consists of; false when something is missing or damaged.
Result<bool> is_whole(RepositoryWriter& writer, const Checksum& commit);

/// Of a mapped commit: the image's own.
inline constexpr std::string_view kImageCommitKey = "strake.image-commit";

/// An "a{sv}" of texts.
Variant text_dictionary(const std::map<std::string, std::string>& texts);

}  // namespace strake::ostree
