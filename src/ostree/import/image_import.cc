#include "ostree/import/image_import.h"

#include <sys/stat.h>

#include "base/time.h"
#include "codec/json.h"
#include "ostree/import/base_import.h"
#include "ostree/import/derived_layer.h"
#include "ostree/import/derived_paths.h"
#include "ostree/import/folder_tree.h"

namespace strake::ostree {

namespace {

constexpr std::string_view kManifestDigestKey = "ostree.manifest-digest";
constexpr std::string_view kManifestKey = "ostree.manifest";
constexpr std::string_view kConfigKey = "ostree.container.image-config";
constexpr std::string_view kImporterKey = "ostree.importer.version";
constexpr std::string_view kImporter = "strake";
constexpr std::string_view kCreatedAnnotation = "org.opencontainers.image.created";
constexpr std::string_view kSelinuxConfig = "usr/etc/selinux/config";

/// Refs behind which deployments and other programs keep images.
constexpr std::string_view kDeploymentRefPrefixes[] = {"ostree/0/", "ostree/1/", "rpmostree/base/",
                                                       "ostree/container/baseimage/"};

Result<std::uint64_t> commit_time(const ImageDescription& image, const json::Value& config,
                                  const ImportOptions& options) {
  std::optional<std::string> text = json::find_string(config, {"created"});
  std::string_view where = "the image config's created";
  if (const auto found = image.annotations.find(std::string(kCreatedAnnotation)); found != image.annotations.end()) {
    text = found->second;
    where = kCreatedAnnotation;
  }
  std::chrono::system_clock::time_point time = options.now;
  if (text) {
    STRAKE_TRY_CONTEXT(time, parse_rfc3339(*text), "{}", where);
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
  return static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 0));
}

class ImageImport {
 public:
  ImageImport(RepositoryWriter& writer, const ImageDescription& image, LayerSource& layers,
              const ImportOptions& options, ImportPlan plan)
      : writer_(writer), image_(image), layers_(layers), options_(options), plan_(std::move(plan)) {}

  Result<ImportReport> run() {
    if (plan_.present) return already_there(*plan_.present);
    // Read first: an image whose documents are no JSON costs no download.
    STRAKE_TRY_CONTEXT(const json::Value manifest, json::parse(image_.manifest), "image manifest");
    STRAKE_TRY_CONTEXT(const json::Value config, json::parse(image_.config), "image config");
    STRAKE_TRY(const std::uint64_t time, commit_time(image_, config, options_));
    if (plan_.commit) {
      STRAKE_TRY(base_, import_base());
      STRAKE_TRY(any_toplevel_, base_keeps_any_toplevel());
    } else {
      any_toplevel_ = true;  // such an image brings the whole of its root
    }
    STRAKE_TRY(const std::vector<Checksum> derived, import_derived());
    STRAKE_TRY(std::unique_ptr<FolderTree> tree, merged(derived));
    STRAKE_TRY(const auto selinux, tree->find_file(kSelinuxConfig));
    has_selinux_policy_ = selinux.has_value();
    STRAKE_TRY(const Checksum contents, tree->write(writer_));

    std::map<std::string, std::string> texts = {{std::string(kManifestDigestKey), image_.manifest_digest.to_string()},
                                                {std::string(kManifestKey), json::write_canonical(manifest)},
                                                {std::string(kConfigKey), json::write_canonical(config)},
                                                {std::string(kImporterKey), std::string(kImporter)}};
    if (plan_.commit && base_ != plan_.commit) texts.emplace(kImageCommitKey, plan_.commit->hex());
    const Commit commit{text_dictionary(texts), base_, "", "", time, contents, tree->meta()};
    STRAKE_TRY(const Checksum merge, writer_.write_metadata(ObjectType::kCommit, serialize_commit(commit)));
    STRAKE_CHECK_OK(writer_.mark_complete(merge));
    STRAKE_CHECK_OK(writer_.write_ref(plan_.image_ref, merge));
    STRAKE_CHECK_OK(writer_.write_ref(plan_.checked_image_ref, merge));
    ImportReport report = report_of(merge);
    return report;
  }

 private:
  ImportReport report_of(const Checksum& merge) {
    return {.merge_commit = merge,
            .base_commit = base_,
            .image_commit = plan_.commit,
            .layers_read = std::move(layers_read_),
            .dropped = std::move(dropped_),
            .has_selinux_policy = has_selinux_policy_};
  }

  Result<ImportReport> already_there(const Checksum& merge) {
    STRAKE_TRY(const Commit commit, read_commit(writer_.repository(), merge));
    base_ = commit.parent;
    FolderTree tree(writer_.repository(), commit.root_tree, commit.root_meta);
    STRAKE_TRY(const auto selinux, tree.find_file(kSelinuxConfig));
    has_selinux_policy_ = selinux.has_value();
    ImportReport report = report_of(merge);
    report.was_present = true;
    return report;
  }

  /// Reads a layer to its end and compares what it unpacks to with what the config promises.
  Status read_layer(std::size_t number, const std::function<Status(codec::Source&)>& read) {
    const LayerDescription& layer = plan_.layers[number].layer;
    const auto read_hashed = [&](codec::Source& tar) -> Status {
      codec::HashingSource hashed(tar);
      STRAKE_CHECK_OK(read(hashed));
      STRAKE_TRY(const codec::Digest diff_id, hashed.finish());
      if (diff_id == layer.diff_id) return {};
      return not_genuine("it unpacks to {}, but the image config says {}", diff_id.to_string(),
                         layer.diff_id.to_string());
    };
    layers_read_.push_back(number);
    return layers_.read_layer(number, read_hashed)
        .context("importing layer {} of {} ({})", number + 1, plan_.layers.size(), layer.digest.to_string());
  }

  /// Ours first: whoever sees the other ref is to find that it was checked.
  Status write_layer_refs(const PlannedLayer& planned, const Checksum& commit) {
    STRAKE_CHECK_OK(writer_.write_ref(
        checked_layer_ref(planned.kind, planned.layer.diff_id, any_toplevel_, options_.owner), commit));
    return keep_layer_ref(planned, commit);
  }

  Status keep_layer_ref(const PlannedLayer& planned, const Checksum& commit) {
    if (planned.claimed == commit) return {};
    return writer_.write_ref(layer_ref(planned.layer.digest), commit);
  }

  /// The commit that was imported for an earlier image, if it is the one this image promises.
  Result<std::optional<Checksum>> known_base() {
    const PlannedLayer& layer = plan_.layers.front();
    if (layer.checked) {
      STRAKE_TRY(const Commit commit, read_commit(writer_.repository(), *layer.checked));
      const std::string original = commit.text(kImageCommitKey).value_or(layer.checked->hex());
      if (original == plan_.commit->hex()) return layer.checked;
    }
    // Another program's: the promise names every byte of it, so it can be checked where it lies.
    if (!options_.owner && layer.claimed == plan_.commit) {
      STRAKE_TRY(const bool whole, is_whole(writer_, *plan_.commit));
      if (whole) return plan_.commit;
    }
    return std::optional<Checksum>();
  }

  Result<Checksum> import_base() {
    STRAKE_TRY(const std::optional<Checksum> known, known_base());
    BaseImport base(writer_, options_.owner);
    const PlannedLayer& commit_layer = plan_.layers.front();
    if (!known) {
      const auto read = [&](codec::Source& tar) { return base.read_commit_layer(tar, *plan_.commit); };
      STRAKE_CHECK_OK(read_layer(0, read));
    }
    for (std::size_t i = 1; i < plan_.layers.size() && plan_.layers[i].kind == LayerKind::kChunk; ++i) {
      const PlannedLayer& chunk = plan_.layers[i];
      if (chunk.checked) {
        if (!known) STRAKE_CHECK_OK(base.know_chunk(*chunk.checked));
        STRAKE_CHECK_OK(keep_layer_ref(chunk, *chunk.checked));
        continue;
      }
      // With the whole commit checked, what another program's ref lists beside it is nobody's input.
      if (known && chunk.claimed) continue;
      std::optional<Checksum> objects;
      const auto read = [&](codec::Source& tar) -> Status {
        STRAKE_TRY(objects, base.read_chunk(tar));
        return {};
      };
      STRAKE_CHECK_OK(read_layer(i, read));
      STRAKE_CHECK_OK(write_layer_refs(chunk, *objects));
    }
    if (known) {
      STRAKE_CHECK_OK(write_layer_refs(commit_layer, *known));
      return *known;
    }
    STRAKE_TRY(const Checksum commit, base.finish(*plan_.commit));
    STRAKE_CHECK_OK(write_layer_refs(commit_layer, commit));
    return commit;
  }

  Result<bool> base_keeps_any_toplevel() {
    STRAKE_TRY(const Commit commit, read_commit(writer_.repository(), *base_));
    FolderTree tree(writer_.repository(), commit.root_tree, commit.root_meta);
    STRAKE_TRY(const std::optional<Checksum> conf, tree.find_file(kPrepareRootConf));
    if (!conf) return false;
    codec::StringSink text(kMaxPrepareRootBytes);
    STRAKE_CHECK_OK(writer_.repository().copy_file(*conf, text).context("/{}", kPrepareRootConf));
    return keeps_any_toplevel(text.text());
  }

  Result<std::vector<Checksum>> import_derived() {
    std::vector<Checksum> commits;
    for (std::size_t i = 0; i < plan_.layers.size(); ++i) {
      const PlannedLayer& planned = plan_.layers[i];
      if (planned.kind != LayerKind::kDerived) continue;
      if (const auto& checked = any_toplevel_ ? planned.checked_any_toplevel : planned.checked) {
        STRAKE_CHECK_OK(keep_layer_ref(planned, *checked));
        commits.push_back(*checked);
        continue;
      }
      std::optional<DerivedLayer> layer;
      const auto read = [&](codec::Source& tar) -> Status {
        STRAKE_TRY(layer, read_derived_layer(tar, {any_toplevel_, options_.owner}, writer_));
        return {};
      };
      STRAKE_CHECK_OK(read_layer(i, read));
      for (const auto& [name, count] : layer->dropped) dropped_[name] += count;
      const Commit commit{text_dictionary({{std::string(kImporterKey), std::string(kImporter)}}),
                          std::nullopt,
                          "",
                          "",
                          0,
                          layer->contents,
                          layer->meta};
      STRAKE_TRY(const Checksum written, writer_.write_metadata(ObjectType::kCommit, serialize_commit(commit)));
      STRAKE_CHECK_OK(write_layer_refs(planned, written));
      commits.push_back(written);
    }
    return commits;
  }

  Result<std::unique_ptr<FolderTree>> merged(const std::vector<Checksum>& derived) {
    const Repository& repository = writer_.repository();
    std::unique_ptr<FolderTree> tree;
    if (base_) {
      STRAKE_TRY(const Commit commit, read_commit(repository, *base_));
      tree = std::make_unique<FolderTree>(repository, commit.root_tree, commit.root_meta);
    }
    for (const Checksum& layer : derived) {
      STRAKE_TRY(const Commit commit, read_commit(repository, layer));
      if (!tree) tree = std::make_unique<FolderTree>(repository, commit.root_meta);
      STRAKE_CHECK_OK(tree->merge(commit.root_tree).context("merging commit {} of a layer", layer.hex()));
    }
    if (derived.empty()) return tree;
    for (const std::string_view path : kInjectedFiles) {
      STRAKE_TRY(const std::optional<Checksum> file, tree->find_file(path));
      if (!file) continue;
      STRAKE_TRY(const FileInfo info, repository.read_file_info(*file));
      if (!info.is_symlink() && info.size == 0) STRAKE_CHECK_OK(tree->remove_file(path));
    }
    return tree;
  }

  RepositoryWriter& writer_;
  const ImageDescription& image_;
  LayerSource& layers_;
  const ImportOptions& options_;
  ImportPlan plan_;
  std::optional<Checksum> base_;
  bool any_toplevel_ = false;
  bool has_selinux_policy_ = false;
  std::vector<std::size_t> layers_read_;
  std::map<std::string, std::size_t> dropped_;
};

/// Of a commit somebody wrote; nullopt: it was not made of an image.
Result<std::optional<ImportedImage>> read_imported(const Repository& repository, const Checksum& checksum) {
  STRAKE_TRY(const Commit commit, read_commit(repository, checksum));
  std::optional<std::string> digest = commit.text(kManifestDigestKey);
  if (!digest) return std::optional<ImportedImage>();
  return std::optional(ImportedImage{.merge_commit = checksum,
                                     .manifest_digest = *std::move(digest),
                                     .manifest = commit.text(kManifestKey).value_or(""),
                                     .config = commit.text(kConfigKey).value_or("")});
}

void add_digests(const json::Value* list, std::string_view member, std::vector<codec::Digest>& digests) {
  if (list == nullptr || !list->is_array()) return;
  for (const json::Value& item : list->get_array()) {
    std::optional<std::string> text;
    if (item.is_string()) text = std::string(json::as_view(item.get_string()));
    if (item.is_object()) text = json::find_string(item, {member});
    if (!text) continue;
    if (Result<codec::Digest> digest = codec::Digest::parse(*text); digest.ok()) digests.push_back(*std::move(digest));
  }
}

}  // namespace

Result<std::optional<ImportedImage>> find_imported_image(const Repository& repository,
                                                         const ContainerReference& reference) {
  STRAKE_TRY(const std::string name, image_ref(reference));
  STRAKE_TRY(const auto refs, repository.refs());
  const auto found = refs.find(name);
  if (found == refs.end()) return std::optional<ImportedImage>();
  STRAKE_TRY_CONTEXT(std::optional<ImportedImage> image, read_imported(repository, found->second), "ref {}", name);
  if (!image) {
    return error(Code::kCorrupt, "ref {} leads to commit {}, which was not made of a container image", name,
                 found->second.hex());
  }
  for (const auto& [ref, commit] : refs) {
    image->checked = image->checked || (commit == found->second && ref.starts_with("strake/image"));
  }
  return image;
}

Result<ImportReport> import_image(RepositoryWriter& writer, const ImageDescription& image, LayerSource& layers,
                                  const ImportOptions& options) {
  RepositoryFacts facts;
  STRAKE_TRY(facts.refs, writer.repository().refs());
  STRAKE_TRY(const std::string own_ref, checked_image_ref(options.reference, options.owner));
  if (const auto own = facts.refs.find(own_ref); own != facts.refs.end()) {
    STRAKE_TRY_CONTEXT(const auto imported, read_imported(writer.repository(), own->second), "ref {}", own_ref);
    if (imported) facts.imported_manifest = imported->manifest_digest;
  }
  STRAKE_TRY(ImportPlan plan, plan_import(image, options.reference, options.owner, facts));
  return ImageImport(writer, image, layers, options, std::move(plan))
      .run()
      .context("importing {}", options.reference.to_string());
}

Result<std::vector<std::string>> remove_unused_layers(RepositoryWriter& writer) {
  STRAKE_TRY(const auto refs, writer.repository().refs());
  std::vector<KeptImage> images;
  for (const auto& [name, commit] : refs) {
    bool keeps = name.starts_with(kImageRefPrefix);
    for (const std::string_view prefix : kDeploymentRefPrefixes) keeps = keeps || name.starts_with(prefix);
    if (!keeps) continue;
    STRAKE_TRY_CONTEXT(const auto image, read_imported(writer.repository(), commit), "ref {}", name);
    if (!image) continue;
    KeptImage kept;
    // What cannot be read must not cost a layer somebody needs.
    STRAKE_TRY_CONTEXT(const json::Value manifest, json::parse(image->manifest), "manifest of ref {}", name);
    add_digests(json::find(manifest, {"layers"}), "digest", kept.digests);
    if (const Result<json::Value> config = json::parse(image->config); config.ok()) {
      add_digests(json::find(*config, {"rootfs", "diff_ids"}), "", kept.diff_ids);
    }
    images.push_back(std::move(kept));
  }
  std::vector<std::string> removed = plan_layer_removal(refs, images);
  for (const std::string& name : removed) STRAKE_CHECK_OK(writer.remove_ref(name));
  return removed;
}

}  // namespace strake::ostree
