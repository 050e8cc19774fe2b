// What importing an image takes, decided from what the image says and which refs the repository has: a pure function.
//
// Refs of other programs prove nothing: some set the ref of a layer before its digest is known, so that what a failed
// pull left is deployed by the next. Beside each ref of the container stack this importer therefore keeps one of its
// own, written after everything behind it was checked:
//
//   strake/layer/KIND/DIFF-ID   the commit of a layer, by the digest of its uncompressed bytes: found again when only
//   the
//                               compression changed
//   strake/image/IMAGE          the merge commit of an image
//
// They are ordinary refs: `ostree prune` keeps what they lead to.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/digest.h"
#include "ostree/import/container_names.h"
#include "ostree/owner_mapping.h"

namespace strake::ostree {

inline constexpr std::string_view kFinalLayerLabel = "ostree.final-diffid";
inline constexpr std::string_view kCommitLabel = "ostree.commit";

struct LayerDescription {
  codec::Digest digest;   ///< as the manifest has it
  codec::Digest diff_id;  ///< of the uncompressed tar, as the config has it
  std::uint64_t size = 0;
};

/// An image, as whoever fetched and checked its documents describes it.
struct ImageDescription {
  codec::Digest manifest_digest;
  std::string manifest;  ///< JSON
  std::string config;    ///< JSON
  std::map<std::string, std::string> labels{};
  std::map<std::string, std::string> annotations{};  ///< of the manifest
  std::vector<LayerDescription> layers{};            ///< lowest first
};

/// How many layers, from the lowest, carry the image's ostree commit; 0 of a plain image. What other importers take for
/// granted about labels and digests is required here: kCorrupt.
Result<std::size_t> count_commit_layers(const std::map<std::string, std::string>& labels,
                                        const std::map<std::string, std::string>& annotations,
                                        const std::vector<codec::Digest>& diff_ids);

enum class LayerKind {
  kCommit,   ///< the commit and its folders; of an image in one piece the files too
  kChunk,    ///< files of the commit
  kDerived,  ///< a plain tar on top
};

struct PlannedLayer {
  LayerKind kind = LayerKind::kDerived;
  LayerDescription layer;
  /// The layer's commit, where this importer checked it before.
  std::optional<Checksum> checked{};
  /// Of a derived layer: the same as it was imported for an OS that keeps any folder at the top.
  std::optional<Checksum> checked_any_toplevel{};
  /// What another program says is the layer's commit.
  std::optional<Checksum> claimed{};
};

struct ImportPlan {
  std::string image_ref;
  std::string checked_image_ref;
  /// The merge commit, when the image is there already and was checked: nothing is left to do.
  std::optional<Checksum> present{};
  std::optional<Checksum> commit{};  ///< that the image promises; nullopt: a plain image
  std::vector<PlannedLayer> layers{};
};

struct RepositoryFacts {
  std::map<std::string, Checksum> refs;
  /// The digest of the manifest that the commit of checked_image_ref was made of.
  std::optional<std::string> imported_manifest{};
};

/// "strake/layer/..." of a layer; `any_toplevel` counts for derived ones alone.
std::string checked_layer_ref(LayerKind kind, const codec::Digest& diff_id, bool any_toplevel,
                              const std::optional<OwnerMapping>& owner);
Result<std::string> checked_image_ref(const ContainerReference& reference, const std::optional<OwnerMapping>& owner);

Result<ImportPlan> plan_import(const ImageDescription& image, const ContainerReference& reference,
                               const std::optional<OwnerMapping>& owner, const RepositoryFacts& facts);

/// Refs of layers that no image in the repository is made of any more. `images`: the documents of every image that an
/// image ref or a deployment leads to.
struct KeptImage {
  std::vector<codec::Digest> digests;
  std::vector<codec::Digest> diff_ids;
};
std::vector<std::string> plan_layer_removal(const std::map<std::string, Checksum>& refs,
                                            const std::vector<KeptImage>& images);

}  // namespace strake::ostree
