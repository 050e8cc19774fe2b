#include "ostree/import/import_plan.h"

#include <algorithm>
#include <set>

namespace strake::ostree {

namespace {

constexpr std::string_view kCheckedLayerPrefix = "strake/layer/";
constexpr std::string_view kCheckedImagePrefix = "strake/image";

const std::string* label_of(const std::map<std::string, std::string>& labels, std::string_view name) {
  const auto found = labels.find(std::string(name));
  return found == labels.end() ? nullptr : &found->second;
}

std::optional<Checksum> ref_of(const RepositoryFacts& facts, const std::string& name) {
  const auto found = facts.refs.find(name);
  return found == facts.refs.end() ? std::nullopt : std::optional(found->second);
}

/// A mapped tree is another tree: each owner has commits of his own.
std::string owner_suffix(const std::optional<OwnerMapping>& owner) {
  return owner ? fmt::format("-u{}-{}", owner->uid, owner->gid) : "";
}

std::string_view kind_name(LayerKind kind, bool any_toplevel) {
  switch (kind) {
    case LayerKind::kCommit: return "commit";
    case LayerKind::kChunk: return "chunk";
    case LayerKind::kDerived: return any_toplevel ? "derived-any" : "derived";
  }
  return "unknown";
}

std::string escaped_digest(const codec::Digest& digest) {
  const Result<std::string> escaped = escape_ref(digest.to_string());
  STRAKE_INVARIANT(escaped.ok());
  return *escaped;
}

}  // namespace

Result<std::size_t> count_commit_layers(const std::map<std::string, std::string>& labels,
                                        const std::map<std::string, std::string>& annotations,
                                        const std::vector<codec::Digest>& diff_ids) {
  const std::string* const label = label_of(labels, kFinalLayerLabel);
  if (label == nullptr) return std::size_t{0};
  STRAKE_TRY_CONTEXT(const codec::Digest final_layer, codec::Digest::parse(*label), "label {}", kFinalLayerLabel);
  if (const auto times = std::ranges::count(diff_ids, final_layer); times != 1) {
    return error(Code::kCorrupt, "label {} says {}, which {} of the image's layers", kFinalLayerLabel, *label,
                 times == 0 ? "is none" : "are several");
  }
  if (std::ranges::count(diff_ids, diff_ids.front()) != 1) {
    return error(Code::kCorrupt, "the commit layer {} is in the image more than once", diff_ids.front().to_string());
  }
  for (const std::string_view name : {kCommitLabel, kFinalLayerLabel}) {
    const std::string* own = label_of(labels, name);
    const std::string* annotation = label_of(annotations, name);
    if (own == nullptr) return error(Code::kCorrupt, "the image has label {} but no label {}", kFinalLayerLabel, name);
    if (annotation != nullptr && *annotation != *own) {
      return error(Code::kCorrupt, "label {} says {}, the manifest's annotation of that name {}", name, *own,
                   *annotation);
    }
  }
  return static_cast<std::size_t>(std::ranges::find(diff_ids, final_layer) - diff_ids.begin()) + 1;
}

std::string checked_layer_ref(LayerKind kind, const codec::Digest& diff_id, bool any_toplevel,
                              const std::optional<OwnerMapping>& owner) {
  return fmt::format("{}{}{}/{}", kCheckedLayerPrefix, kind_name(kind, any_toplevel), owner_suffix(owner),
                     escaped_digest(diff_id));
}

Result<std::string> checked_image_ref(const ContainerReference& reference, const std::optional<OwnerMapping>& owner) {
  STRAKE_TRY(const std::string escaped, escape_ref(reference.image()));
  return fmt::format("{}{}/{}", kCheckedImagePrefix, owner_suffix(owner), escaped);
}

Result<ImportPlan> plan_import(const ImageDescription& image, const ContainerReference& reference,
                               const std::optional<OwnerMapping>& owner, const RepositoryFacts& facts) {
  ImportPlan plan;
  STRAKE_TRY(plan.image_ref, image_ref(reference));
  STRAKE_TRY(plan.checked_image_ref, checked_image_ref(reference, owner));
  if (image.layers.empty()) return error(Code::kInvalidArgument, "the image has no layers");
  std::vector<codec::Digest> diff_ids;
  diff_ids.reserve(image.layers.size());
  for (const LayerDescription& layer : image.layers) diff_ids.push_back(layer.diff_id);
  STRAKE_TRY(const std::size_t commit_layers, count_commit_layers(image.labels, image.annotations, diff_ids));
  if (commit_layers > 0) {
    STRAKE_TRY_CONTEXT(plan.commit, Checksum::from_hex(*label_of(image.labels, kCommitLabel)), "label {}",
                       kCommitLabel);
  }
  const std::optional<Checksum> named = ref_of(facts, plan.image_ref);
  if (named && named == ref_of(facts, plan.checked_image_ref) &&
      facts.imported_manifest == image.manifest_digest.to_string()) {
    plan.present = named;
  }
  plan.layers.reserve(image.layers.size());
  for (std::size_t i = 0; i < image.layers.size(); ++i) {
    const LayerDescription& layer = image.layers[i];
    const LayerKind kind = i >= commit_layers ? LayerKind::kDerived : i == 0 ? LayerKind::kCommit : LayerKind::kChunk;
    PlannedLayer planned{kind, layer};
    planned.checked = ref_of(facts, checked_layer_ref(kind, layer.diff_id, false, owner));
    if (kind == LayerKind::kDerived) {
      planned.checked_any_toplevel = ref_of(facts, checked_layer_ref(kind, layer.diff_id, true, owner));
    }
    planned.claimed = ref_of(facts, layer_ref(layer.digest));
    plan.layers.push_back(std::move(planned));
  }
  return plan;
}

std::vector<std::string> plan_layer_removal(const std::map<std::string, Checksum>& refs,
                                            const std::vector<KeptImage>& images) {
  std::set<std::string> digests;
  std::set<std::string> diff_ids;
  for (const KeptImage& image : images) {
    for (const codec::Digest& digest : image.digests) digests.insert(layer_ref(digest));
    for (const codec::Digest& diff_id : image.diff_ids) diff_ids.insert(escaped_digest(diff_id));
  }
  std::vector<std::string> removed;
  for (const auto& [name, commit] : refs) {
    const bool of_stack = name.starts_with(kLayerRefPrefix);
    const bool of_ours = name.starts_with(kCheckedLayerPrefix);
    if (of_stack && !digests.contains(name)) removed.push_back(name);
    if (of_ours && !diff_ids.contains(name.substr(name.rfind('/') + 1))) removed.push_back(name);
  }
  return removed;
}

}  // namespace strake::ostree
