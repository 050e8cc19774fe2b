// How an OsImage is opened: which form it has, and the checks that make its tree believable.
#include <algorithm>
#include <set>

#include <fmt/ranges.h>

#include "base/fd.h"
#include "oci/image_files.h"
#include "osimage/os_image.h"
#include "ostree/import/derived_paths.h"
#include "ostree/import/import_plan.h"

namespace strake::osimage {

namespace {

using ostree::kCommitLabel;
using ostree::kFinalLayerLabel;

constexpr std::string_view kMachineOsContentLabel = "com.coreos.ostree-commit";
constexpr std::size_t kMaxNameBytes = 128u << 20;
/// Of the file above, in the cache.
constexpr std::string_view kRootKind = "ostree-prepare-root";
constexpr std::string_view kArchiveRepositoryConfig = "srv/repo/config";

const std::string* find_label(const std::map<std::string, std::string>& labels, std::string_view name) {
  const auto found = labels.find(std::string(name));
  return found == labels.end() ? nullptr : &found->second;
}

Result<ostree::Checksum> label_checksum(const std::string& value, std::string_view label) {
  return ostree::Checksum::from_hex(value).context("label {}", label);
}

/// A folder that is in itself a million times would fit into a few kilobytes: what the tree takes is limited.
Status fill_tree(OsTree& tree, const ObjectStore& objects, const ostree::Commit& commit) {
  std::map<ostree::Checksum, SharedXattrs> folder_xattrs;
  std::size_t name_bytes = 0;
  return ostree::walk_tree(objects, commit, [&](const ostree::TreeEntry& entry) -> Status {
    name_bytes += name_of(entry.path).size();
    if (name_bytes > kMaxNameBytes) {
      return error(Code::kExhausted, "the names of the commit's files take more than {} bytes", kMaxNameBytes);
    }
    OsNode node;
    node.checksum = entry.checksum;
    if (entry.meta == nullptr) {
      node.type = NodeType::kFileOrSymlink;
    } else {
      node.mode = entry.meta->mode & 07777;
      node.uid = entry.meta->uid;
      node.gid = entry.meta->gid;
      const auto known = folder_xattrs.find(*entry.meta_checksum);
      node.xattrs = known != folder_xattrs.end()
                        ? known->second
                        : folder_xattrs.emplace(*entry.meta_checksum, entry.meta->xattrs).first->second;
      node.meta_checksum = *entry.meta_checksum;
    }
    tree.put(entry.path, std::move(node));
    return {};
  });
}

/// A machine's repository is ostree/repo of its physical root, at the top of which it keeps what it was installed from.
void read_aleph_beside(const std::filesystem::path& repository, ImageFacts& facts) {
  std::error_code ignored;
  const std::filesystem::path own = std::filesystem::canonical(repository, ignored);
  if (own.filename() != "repo" || own.parent_path().filename() != "ostree") return;
  for (const std::string_view name : stream::kAlephNames) {
    const std::filesystem::path file = own.parent_path().parent_path() / name;
    // The root may be somebody's disk: a FIFO there must not be waited for.
    if (!std::filesystem::is_regular_file(file, ignored)) continue;
    Result<stream::Aleph> aleph = [&]() -> Result<stream::Aleph> {
      STRAKE_TRY(const std::string text, read_file(file, stream::kMaxAlephBytes));
      return stream::parse_aleph(text).context("{}", file.string());
    }();
    if (aleph.ok()) {
      facts.aleph = *std::move(aleph);
    } else {
      facts.aleph_problem = aleph.error().to_string();
    }
    return;
  }
}

}  // namespace

std::string_view to_string(Form form) {
  switch (form) {
    case Form::kPlain: return "plain";
    case Form::kOstreeNative: return "ostree-native";
    case Form::kMachineOsContent: return "machine-os-content";
    case Form::kOstreeRepository: return "ostree";
  }
  return "unknown";
}

/// The steps of opening, which share what was read so far.
class ImageOpener {
 public:
  ImageOpener(const oci::ImageSource& source, const OpenOptions& options, runtime::Runtime& runtime,
              const runtime::Call& call)
      : source_(source), options_(options), runtime_(runtime), call_(call), image_(new OsImage()) {}

  static Result<std::unique_ptr<OsImage>> open_commit(std::unique_ptr<OsImage> image, const ostree::Checksum& commit) {
    ImageFacts& facts = image->facts_;
    facts.commit_checksum = commit;
    STRAKE_TRY(facts.commit, ostree::read_commit(*image->objects_, commit));
    STRAKE_CHECK_OK(fill_tree(image->tree_, *image->objects_, *facts.commit).context("commit {}", commit.hex()));
    return image;
  }

  static Result<std::unique_ptr<OsImage>> open_repository(const std::filesystem::path& directory,
                                                          std::string_view name) {
    STRAKE_TRY(ostree::Repository repository, ostree::Repository::open(directory));
    STRAKE_TRY(const ostree::Checksum commit, repository.resolve(name));
    std::unique_ptr<OsImage> image(new OsImage());
    image->facts_.form = Form::kOstreeRepository;
    read_aleph_beside(directory, image->facts_);
    image->objects_ = std::make_unique<RepositoryObjects>(std::move(repository));
    return open_commit(std::move(image), commit).context("ostree repository {}", directory.string());
  }

  Result<std::unique_ptr<OsImage>> open(std::string_view reference) {
    STRAKE_TRY(const oci::Descriptor descriptor, source_.resolve(reference, options_.platform, call_));
    STRAKE_TRY(image_->manifest_, source_.read_manifest(descriptor, call_));
    STRAKE_TRY(config_, source_.read_config(manifest(), call_));
    if (manifest().layers.empty()) return error(Code::kInvalidArgument, "the image has no layers");
    if (descriptor.platform && descriptor.platform->architecture != config_->platform.architecture) {
      return error(Code::kCorrupt, "the index says the image is for {}, its config says {}",
                   descriptor.platform->architecture, config_->platform.architecture);
    }
    image_->source_ = &source_;
    image_->cache_ = options_.cache;
    ImageFacts& facts = image_->facts_;
    facts.digest = descriptor.digest;
    facts.platform = config_->platform;
    facts.labels = config_->labels;
    facts.layers = manifest().layers.size();
    for (const oci::Descriptor& layer : manifest().layers) facts.layer_bytes += layer.size;
    if (find_label(facts.labels, kFinalLayerLabel) != nullptr) return open_native();
    if (find_label(facts.labels, kMachineOsContentLabel) != nullptr) {
      STRAKE_TRY(std::unique_ptr<OsImage> image, open_machine_os_content());
      // The label alone proves nothing: it is passed on to whatever is built from such an image.
      if (image) return image;
    }
    return open_plain();
  }

 private:
  const oci::Manifest& manifest() const { return *image_->manifest_; }

  std::vector<LayerPromise> promises(std::size_t count) const {
    std::vector<LayerPromise> layers;
    layers.reserve(count);
    for (std::size_t i = 0; i < count; ++i) layers.push_back({i, manifest().layers[i], config_->diff_ids[i]});
    return layers;
  }

  std::unique_ptr<LayerObjects> layer_objects(ObjectLayerForm form, std::size_t count) const {
    return std::make_unique<LayerObjects>(LayerObjects::Origin{source_, options_.cache, runtime_}, form,
                                          promises(count), manifest().layers.size());
  }

  Result<std::unique_ptr<OsImage>> open_native() {
    image_->facts_.form = Form::kOstreeNative;
    STRAKE_TRY(const std::size_t commit_layers,
               ostree::count_commit_layers(config_->labels, manifest().annotations, config_->diff_ids));
    STRAKE_TRY(const ostree::Checksum promised,
               label_checksum(*find_label(config_->labels, kCommitLabel), kCommitLabel));
    std::unique_ptr<LayerObjects> objects = layer_objects(ObjectLayerForm::kNative, commit_layers);
    STRAKE_CHECK_OK(objects->load_metadata_layers(1, call_));
    const std::vector<ostree::Checksum> commits = objects->commits();
    if (commits.size() != 1 || commits.front() != promised) {
      std::vector<std::string> names;
      names.reserve(commits.size());
      for (const ostree::Checksum& commit : commits) names.push_back(commit.hex());
      return not_genuine("label {} says {}, but the commit layer holds {}", kCommitLabel, promised.hex(),
                         names.empty() ? "no commit" : fmt::format("{}", fmt::join(names, ", ")));
    }
    image_->objects_ = std::move(objects);
    STRAKE_TRY(image_, open_commit(std::move(image_), promised));
    image_->facts_.derived_layers = manifest().layers.size() - commit_layers;
    if (!options_.base_only) STRAKE_CHECK_OK(merge_derived(commit_layers));
    return std::move(image_);
  }

  /// Stands in a file of the commit, which may be in any layer: the answer is kept, so that the next listing reads
  /// none.
  Result<bool> has_root_of_its_own() {
    if (image_->tree_.find(ostree::kPrepareRootConf) == nullptr) return false;
    const codec::Digest& commit_layer = manifest().layers.front().digest;
    if (options_.cache != nullptr) {
      STRAKE_TRY(const auto kept, options_.cache->read_derived(kRootKind, commit_layer, ostree::kMaxPrepareRootBytes));
      if (kept) return ostree::keeps_any_toplevel(*kept);
    }
    STRAKE_TRY(const std::string conf,
               image_->read_file(std::string(ostree::kPrepareRootConf), ostree::kMaxPrepareRootBytes, call_));
    if (options_.cache != nullptr) {
      Status written = options_.cache->write_derived(kRootKind, commit_layer, conf, call_);
      if (!written.ok() && written.error().code() != Code::kExhausted) return std::move(written).error();
    }
    return ostree::keeps_any_toplevel(conf);
  }

  Status merge_derived(std::size_t first) {
    const std::vector<LayerPromise> layers = promises(manifest().layers.size());
    if (first == layers.size()) return {};
    std::vector<oci::LayerIndex> indexes;
    bool depends_on_root = false;
    for (std::size_t i = first; i < layers.size(); ++i) {
      const std::string name = layer_name(layers[i], layers.size());
      STRAKE_TRY_CONTEXT(oci::LayerIndex index, oci::list_layer(source_, layers[i].descriptor, options_.cache, call_),
                         "listing {}", name);
      if (index.diff_id != layers[i].diff_id) {
        return not_genuine("{} unpacks to {}, but the image config says {}", name, index.diff_id.to_string(),
                           layers[i].diff_id.to_string());
      }
      depends_on_root = depends_on_root || has_other_toplevels(index);
      indexes.push_back(std::move(index));
    }
    MergeRules rules;
    if (depends_on_root) {
      STRAKE_TRY(rules.any_toplevel, has_root_of_its_own());
    }
    for (std::size_t i = 0; i < indexes.size(); ++i) {
      STRAKE_CHECK_OK(merge_layer(image_->tree_, indexes[i], first + i, rules, image_->facts_.merge)
                          .context("merging {}", layer_name(layers[first + i], layers.size())));
    }
    finish_merge(image_->tree_);
    return {};
  }

  /// nullptr: there is no repository after all.
  Result<std::unique_ptr<OsImage>> open_machine_os_content() {
    std::unique_ptr<LayerObjects> objects =
        layer_objects(ObjectLayerForm::kArchiveRepository, manifest().layers.size());
    STRAKE_CHECK_OK(objects->load_metadata_layers(manifest().layers.size(), call_));
    if (!objects->texts().contains("config")) return std::unique_ptr<OsImage>();
    STRAKE_TRY(const ostree::Checksum commit, machine_os_content_commit(*objects));
    image_->facts_.form = Form::kMachineOsContent;
    image_->objects_ = std::move(objects);
    return open_commit(std::move(image_), commit);
  }

  /// The label's; without one the only ref's, else the only commit.
  Result<ostree::Checksum> machine_os_content_commit(const LayerObjects& objects) const {
    const std::map<std::string, std::string> texts = objects.texts();
    STRAKE_TRY_CONTEXT(const ostree::RepositoryMode mode, ostree::parse_repository_config(texts.at("config")), "/{}",
                       kArchiveRepositoryConfig);
    if (mode != ostree::RepositoryMode::kArchive) {
      return error(Code::kUnsupported, "/srv/repo is of mode {}, expected archive", ostree::to_string(mode));
    }
    const std::vector<ostree::Checksum> commits = objects.commits();
    if (const std::string* label = find_label(config_->labels, kMachineOsContentLabel)) {
      STRAKE_TRY(const ostree::Checksum promised, label_checksum(*label, kMachineOsContentLabel));
      if (std::ranges::find(commits, promised) != commits.end()) return promised;
      return error(Code::kCorrupt, "label {} says {}, but the repository has no such commit", kMachineOsContentLabel,
                   promised.hex());
    }
    std::set<std::string> refs;
    for (const auto& [path, text] : texts) {
      if (path.starts_with("refs/heads/")) refs.insert(text.substr(0, text.find('\n')));
    }
    if (refs.size() == 1) return ostree::Checksum::from_hex(*refs.begin()).context("the only ref of /srv/repo");
    if (commits.size() == 1) return commits.front();
    return error(Code::kCorrupt,
                 "/srv/repo holds {} commits, and neither label {} nor a single ref says which is meant",
                 commits.size(), kMachineOsContentLabel);
  }

  Result<std::unique_ptr<OsImage>> open_plain() {
    STRAKE_TRY(const oci::ImageFiles files,
               oci::ImageFiles::read(source_, manifest(), {.cache = options_.cache}, runtime_, call_));
    // An image without labels may still be one of the older form.
    if (files.find(kArchiveRepositoryConfig) != nullptr && files.find("usr/lib") == nullptr) {
      STRAKE_TRY(std::unique_ptr<OsImage> image, open_machine_os_content());
      if (image) return image;
    }
    for (const auto& [path, file] : files.files()) {
      OsNode node = node_from_tar(file.tar, {file.layer, file.tar_offset});
      // Entries are sorted, yet "a-b" stands between "a" and "a/b": a folder may have content by now.
      if (OsNode* known = image_->tree_.find(path); known != nullptr && node.is_directory()) {
        node.children = std::move(known->children);
      }
      image_->tree_.put(path, std::move(node));
    }
    return std::move(image_);
  }

  const oci::ImageSource& source_;
  const OpenOptions& options_;
  runtime::Runtime& runtime_;
  const runtime::Call& call_;
  std::unique_ptr<OsImage> image_;
  std::optional<oci::ImageConfig> config_;
};

Result<std::unique_ptr<OsImage>> OsImage::open(const oci::ImageSource& source, std::string_view reference,
                                               const OpenOptions& options, runtime::Runtime& runtime,
                                               const runtime::Call& call) {
  return ImageOpener(source, options, runtime, call).open(reference);
}

Result<std::unique_ptr<OsImage>> OsImage::open_repository(const std::filesystem::path& directory,
                                                          std::string_view commit) {
  return ImageOpener::open_repository(directory, commit);
}

}  // namespace strake::osimage
