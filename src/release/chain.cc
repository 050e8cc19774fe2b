#include "release/chain.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "base/text.h"
#include "oci/parallel.h"

namespace strake::release {

namespace {

std::string layers_text(const std::vector<oci::Descriptor>& layers) {
  std::uint64_t bytes = 0;
  for (const oci::Descriptor& layer : layers) bytes += layer.size;
  return fmt::format("{} layers of {}", layers.size(), human_bytes(bytes));
}

/// Of a failure: what it says about the thing that was looked at.
LinkVerdict verdict_of_failure(const Error& failure) {
  switch (failure.verdict()) {
    case Verdict::kNotGenuine: return LinkVerdict::kRefused;
    case Verdict::kAbsent: return LinkVerdict::kAbsent;
    case Verdict::kUnreachable: return LinkVerdict::kUnreachable;
    case Verdict::kBlocked:
    case Verdict::kNone: break;
  }
  return failure.code() == Code::kNotFound ? LinkVerdict::kAbsent : LinkVerdict::kFailed;
}

/// An image is as good as its layers; one that nobody came to look at leaves it open.
LinkVerdict verdict_with_layers(LinkVerdict of_documents, const std::vector<ChainItem>& layers) {
  LinkVerdict verdict = of_documents;
  for (const ChainItem& layer : layers) {
    if (layer.verdict == LinkVerdict::kOk || layer.verdict == LinkVerdict::kListed) continue;
    if (layer.verdict != LinkVerdict::kNotChecked) return layer.verdict;
    verdict = LinkVerdict::kNotChecked;
  }
  return verdict;
}

std::uint64_t size_of_image(const oci::Manifest& manifest) {
  std::uint64_t bytes = manifest.config.size;
  for (const oci::Descriptor& layer : manifest.layers) bytes += layer.size;
  return bytes;
}

class ChainWalk {
 public:
  ChainWalk(const ReleasePlace& place, const ChainOptions& options, ChainReport& report, runtime::Runtime& runtime,
            const runtime::Call& call)
      : place_(place), options_(options), report_(report), runtime_(runtime), call_(call) {}

  Status run() {
    Status outcome = walk();
    tell_items();
    return outcome;
  }

 private:
  Status walk() {
    STRAKE_TRY_CONTEXT(const PlacedImage release, at({"release", "", ""}, place_.find_release(call_)), "release image");
    report_.digest = release.entry.digest.to_string();
    const auto read = [&]() -> Status {
      if (payload_) return {};
      const PayloadOptions reading{options_.platform, OsImageCheck::kLabels, options_.cache};
      STRAKE_TRY_CONTEXT(payload_, at({"release", "", report_.digest}, read_payload(place_, reading, runtime_, call_)),
                         "release image");
      report_.version = payload_->version;
      return {};
    };
    const ReadManifests manifests = [&]() -> Result<const std::map<std::string, std::string>*> {
      STRAKE_CHECK_OK(read());
      return &payload_->manifests;
    };
    STRAKE_CHECK_OK(check_signatures(release.entry.digest, manifests));
    STRAKE_CHECK_OK(read());
    if (options_.sigstore != nullptr) {
      const std::string name =
          options_.sigstore->signed_as.empty() ? payload_->pull_spec : options_.sigstore->signed_as;
      STRAKE_CHECK_OK(at({"signature", name, report_.digest}, check_sigstore_of(release, name)).context("signature"));
    } else {
      report_.not_checked.push_back("sigstore signatures: no key was given");
    }
    STRAKE_CHECK_OK(check_release_image(release));
    STRAKE_CHECK_OK(check_components(*payload_));
    STRAKE_CHECK_OK(check_artifacts(*payload_));
    return {};
  }

  /// Notes where the walk ended. The first failure counts; what was cancelled because of it, or by the user, does not.
  template <typename T>
  Result<T> at(ChainItem item, Result<T> outcome) {
    if (outcome.ok() || outcome.error().code() == Code::kCancelled) return outcome;
    item.verdict = verdict_of_failure(outcome.error());
    const std::scoped_lock lock(mutex_);
    if (!report_.broken) report_.broken = std::move(item);
    return outcome;
  }

  Status check_layer(const oci::ImageSource& source, const oci::Descriptor& layer, const std::string& owner,
                     const runtime::Call& call) {
    const std::string digest = layer.digest.to_string();
    Status outcome = at({"layer", owner, digest, layer.size}, source.verify_blob(layer, call));
    if (!outcome.ok() && outcome.error().code() == Code::kCancelled) return outcome;
    const std::scoped_lock lock(mutex_);
    hashed_.insert_or_assign(layer.digest, outcome.ok() ? LinkVerdict::kOk : verdict_of_failure(outcome.error()));
    return outcome;
  }

  std::vector<ChainItem> layer_items(const std::vector<oci::Descriptor>& layers, const std::string& owner,
                                     LinkVerdict otherwise) const {
    std::vector<ChainItem> items;
    for (const oci::Descriptor& layer : layers) {
      const auto hashed = hashed_.find(layer.digest);
      items.push_back(
          {"layer", owner, layer.digest.to_string(), layer.size, hashed == hashed_.end() ? otherwise : hashed->second});
    }
    return items;
  }

  /// Everything the walk came by, as data; also when it broke off.
  void tell_items() {
    const LinkVerdict whole = report_.broken && report_.broken->link == "release" ? report_.broken->verdict
                              : release_manifest_                                 ? LinkVerdict::kOk
                                                                                  : LinkVerdict::kNotChecked;
    report_.release.image = {"release", report_.version, report_.digest, {}, whole};
    if (release_manifest_) {
      report_.release.image.size = size_of_image(*release_manifest_);
      report_.release.layers = layer_items(release_manifest_->layers, "release image", LinkVerdict::kNotChecked);
      report_.release.image.verdict = verdict_with_layers(whole, report_.release.layers);
    }
    for (const CheckedComponent& checked : components_) {
      const std::string& tag = checked.component->tag;
      ChainImage item{{"component", tag, checked.component->digest.to_string(), {}, checked.verdict}, {}};
      if (checked.source != nullptr) {
        item.image.size = checked.size;
        item.layers =
            layer_items(checked.layers, tag, hashes_layers_of(tag) ? LinkVerdict::kNotChecked : LinkVerdict::kListed);
        item.image.verdict = verdict_with_layers(checked.verdict, item.layers);
      }
      report_.components.push_back(std::move(item));
    }
  }

  void add_link(std::string kind, std::string subject, std::string proof) {
    ChainLink link{std::move(kind), std::move(subject), std::move(proof)};
    const std::scoped_lock lock(mutex_);
    if (options_.on_link) options_.on_link(link);
    report_.links.push_back(std::move(link));
  }

  Status check_signatures(const codec::Digest& digest, const ReadManifests& manifests) {
    STRAKE_TRY_CONTEXT(const SignatureProof proof,
                       at({"signature", "", digest.to_string()},
                          prove_signatures(place_, digest, options_.signatures, manifests, call_)),
                       "signature");
    for (const AcceptedSignature& accepted : proof.verdict.accepted) {
      add_link("signature", digest.to_string(),
               fmt::format("keyring {}, key {}, {}", accepted.keyring, accepted.key_fingerprint, accepted.source));
    }
    report_.warnings.insert(report_.warnings.end(), proof.verdict.warnings.begin(), proof.verdict.warnings.end());
    report_.by_own_keyring = proof.by_own_word;
    if (proof.by_own_word) {
      report_.warnings.push_back(
          "the keyrings come from the release itself: that proves who signed it, not that you trust them; --keyring "
          "brings your own");
    }
    return {};
  }

  Status check_sigstore_of(const PlacedImage& image, const std::string& name) {
    STRAKE_TRY(const oci::SigstoreProof proof,
               oci::check_sigstore(*image.source, image.entry.digest, name, options_.sigstore->keys,
                                   options_.sigstore->identity, call_));
    add_link("sigstore", image.entry.digest.to_string(), fmt::format("signed as {}", proof.statement.docker_reference));
    return {};
  }

  /// All of them, also those whose index the cache knew.
  Status check_release_image(const PlacedImage& release) {
    STRAKE_TRY_CONTEXT(release_manifest_, at({"release", "", report_.digest}, manifest_of(release)), "release image");
    const oci::Manifest& manifest = *release_manifest_;
    STRAKE_CHECK_OK(oci::for_each_in_parallel(
        runtime_, options_.parallel, manifest.layers.size(), call_, [&](std::size_t i, const runtime::Call& own) {
          return check_layer(*release.source, manifest.layers[i], "release image", own)
              .context("release image: layer {}", manifest.layers[i].digest.to_string());
        }));
    add_link("release", report_.digest, fmt::format("version {}, {}", report_.version, layers_text(manifest.layers)));
    return {};
  }

  Result<oci::Manifest> manifest_of(const PlacedImage& image) {
    STRAKE_TRY(const oci::Descriptor descriptor,
               image.source->resolve(image.entry.digest.to_string(), options_.platform, call_));
    return image.source->read_manifest(descriptor, call_);
  }

  bool hashes_layers_of(const std::string& tag) const {
    switch (options_.layers) {
      case LayerCheck::kAll: return true;
      case LayerCheck::kNone: return false;
      case LayerCheck::kOs: break;
    }
    constexpr std::string_view kExtensions = "-extensions";
    std::string_view image = tag;
    if (image.ends_with(kExtensions)) image.remove_suffix(kExtensions.size());
    return stream_of_os_tag(image).has_value() || tag == "machine-os-images";
  }

  struct CheckedComponent {
    const Component* component = nullptr;
    const oci::ImageSource* source = nullptr;  ///< nullptr: it is not there
    std::vector<oci::Descriptor> layers = {};
    bool one_of_several = false;
    LinkVerdict verdict = LinkVerdict::kNotChecked;  ///< of its manifest and config
    std::uint64_t size = 0;
  };

  Result<CheckedComponent> check_documents(const Component& component, const runtime::Call& call) {
    const Result<PlacedImage> found = place_.find_image(component.pull_spec, Search::kEverywhere, call);
    if (!found.ok() && found.error().code() == Code::kNotFound && !place_.is_complete()) {
      CheckedComponent absent{&component};
      absent.verdict = LinkVerdict::kAbsent;
      return absent;
    }
    if (!found.ok()) return found.error();
    STRAKE_TRY(const oci::Descriptor descriptor,
               found->source->resolve(component.digest.to_string(), options_.platform, call));
    STRAKE_TRY(oci::Manifest manifest, found->source->read_manifest(descriptor, call));
    STRAKE_TRY([[maybe_unused]] const oci::ImageConfig config, found->source->read_config(manifest, call));
    if (options_.sigstore != nullptr && options_.sigstore->components) {
      STRAKE_CHECK_OK(check_sigstore_of(*found, component.pull_spec));
    }
    const std::uint64_t size = size_of_image(manifest);
    return CheckedComponent{
        &component,       found->source, std::move(manifest.layers), descriptor.digest != found->entry.digest,
        LinkVerdict::kOk, size};
  }

  Status check_components(const ReleasePayload& payload) {
    for (const auto& [tag, component] : payload.components) components_.push_back({&component});
    STRAKE_CHECK_OK(oci::for_each_in_parallel(
        runtime_, options_.parallel, components_.size(), call_, [&](std::size_t i, const runtime::Call& own) -> Status {
          const Component& component = *components_[i].component;
          Result<CheckedComponent> checked =
              at({"component", component.tag, component.digest.to_string()}, check_documents(component, own));
          if (!checked.ok() && checked.error().code() != Code::kCancelled) {
            components_[i].verdict = verdict_of_failure(checked.error());
          }
          STRAKE_TRY_CONTEXT(components_[i], std::move(checked), "component {} ({})", component.tag,
                             component.pull_spec);
          return {};
        }));
    STRAKE_CHECK_OK(check_layers(components_));
    tell_components(components_);
    return {};
  }

  struct LayerOfComponent {
    const CheckedComponent* image = nullptr;
    const oci::Descriptor* layer = nullptr;
  };

  /// Components share most of their layers: each is hashed once.
  Status check_layers(const std::vector<CheckedComponent>& components) {
    std::vector<LayerOfComponent> layers;
    std::set<codec::Digest> seen;
    for (const CheckedComponent& image : components) {
      if (image.source == nullptr || !hashes_layers_of(image.component->tag)) continue;
      for (const oci::Descriptor& layer : image.layers) {
        if (seen.insert(layer.digest).second) layers.push_back({&image, &layer});
      }
    }
    return oci::for_each_in_parallel(runtime_, options_.parallel, layers.size(), call_,
                                     [&](std::size_t i, const runtime::Call& own) -> Status {
                                       const auto& [image, layer] = layers[i];
                                       return check_layer(*image->source, *layer, image->component->tag, own)
                                           .context("component {} ({}): layer {}", image->component->tag,
                                                    image->component->pull_spec, layer->digest.to_string());
                                     });
  }

  void tell_components(const std::vector<CheckedComponent>& components) {
    std::size_t absent = 0;
    std::size_t without_layers = 0;
    bool several_platforms = false;
    for (const CheckedComponent& image : components) {
      if (image.source == nullptr) {
        ++absent;
        continue;
      }
      std::string proof = fmt::format("{}: manifest, config", image.component->digest.to_string());
      if (hashes_layers_of(image.component->tag)) {
        proof += fmt::format(", {}", layers_text(image.layers));
      } else {
        ++without_layers;
      }
      add_link("component", image.component->tag, std::move(proof));
      several_platforms |= image.one_of_several;
    }
    if (absent > 0) {
      report_.not_checked.push_back(fmt::format("{} of {} components: {} does not have them", absent, components.size(),
                                                place_.home().description()));
    }
    if (without_layers > 0) {
      report_.not_checked.push_back(
          fmt::format("layers of {} components: --layers all hashes them too", without_layers));
    }
    if (several_platforms && !options_.other_platforms_too) {
      report_.not_checked.push_back(
          fmt::format("images for architectures other than {}", options_.platform.architecture));
    }
  }

  Status check_artifacts(const ReleasePayload& payload) {
    if (options_.artifacts == ArtifactCheck::kNone) {
      report_.not_checked.push_back("boot artifacts");
      return {};
    }
    if (!payload.boot_images) {
      report_.not_checked.push_back("boot artifacts: the release carries no boot image metadata");
      return {};
    }
    STRAKE_TRY_CONTEXT(const BootArtifactList list, boot_artifacts_of(payload.boot_images->set), "boot artifacts");
    add_link("boot artifacts", fmt::format("{} files", list.artifacts.size()),
             "their SHA-256 are part of the release image");
    std::size_t unread = 0;
    for (const BootArtifact& artifact : list.artifacts) {
      report_.artifacts.push_back(
          {"boot artifact", artifact.label(), artifact.digest.to_string(), {}, LinkVerdict::kNotChecked});
    }
    for (std::size_t i = 0; i < list.artifacts.size(); ++i) {
      const BootArtifact& artifact = list.artifacts[i];
      ChainItem& item = report_.artifacts[i];
      const Result<bool> read = at(ChainItem(item), check_artifact(artifact, item.size));
      if (!read.ok()) {
        if (read.error().code() != Code::kCancelled) item.verdict = verdict_of_failure(read.error());
        return Error(read.error()).context(fmt::format("boot artifact {} ({})", artifact.label(), artifact.location));
      }
      item.verdict = *read ? LinkVerdict::kOk : LinkVerdict::kListed;
      if (!*read) ++unread;
    }
    if (unread > 0) {
      report_.not_checked.push_back(fmt::format("the content of {} boot artifacts: {}", unread,
                                                options_.artifacts == ArtifactCheck::kListed
                                                    ? "--artifacts local or all hashes them"
                                                    : "they lie neither beside the release nor in the cache"));
    }
    if (!list.without_sum.empty()) {
      report_.not_checked.push_back(
          fmt::format("{} boot artifacts for which the release has no SHA-256", list.without_sum.size()));
    }
    if (list.cloud_images > 0) {
      report_.not_checked.push_back(
          fmt::format("{} cloud images: they are named by reference and lie in the clouds", list.cloud_images));
    }
    return {};
  }

  /// Whether its bytes were hashed.
  Result<bool> check_artifact(const BootArtifact& artifact, std::optional<std::uint64_t>& size) {
    if (options_.artifacts == ArtifactCheck::kListed) return false;
    Result<PlacedArtifact> placed = find_artifact(place_, artifact, call_);
    if (placed.ok()) {
      size = placed->file.size;
      STRAKE_CHECK_OK(placed->source->verify_blob(placed->file, call_));
      add_link("boot artifact", artifact.label(),
               fmt::format("{}: {}", artifact.digest.to_string(), placed->source->description()));
      return true;
    }
    if (placed.error().code() != Code::kNotFound) return std::move(placed).error();
    if (const std::optional<oci::Descriptor> cached = find_cached(options_.cache, artifact)) {
      // A damaged one is removed, and then not here.
      STRAKE_TRY(const std::unique_ptr<oci::BlobSource> file, options_.cache->fetch(place_.home(), *cached, call_));
      if (file->finish().ok()) {
        size = cached->size;
        add_link("boot artifact", artifact.label(), fmt::format("{}: the cache", artifact.digest.to_string()));
        return true;
      }
    }
    if (options_.artifacts == ArtifactCheck::kLocal) return false;
    if (options_.downloads == nullptr) {
      return error(Code::kNotFound,
                   "{} does not carry it, and locations are not followed from a folder or file unless "
                   "--fetch-artifacts is given",
                   place_.home().description())
          .with_verdict(Verdict::kAbsent);
    }
    STRAKE_CHECK_OK(verify_download(*options_.downloads, artifact, options_.cache, runtime_, call_));
    add_link("boot artifact", artifact.label(), fmt::format("{}: {}", artifact.digest.to_string(), artifact.location));
    return true;
  }

  const ReleasePlace& place_;
  const ChainOptions& options_;
  ChainReport& report_;
  runtime::Runtime& runtime_;
  const runtime::Call& call_;
  std::optional<ReleasePayload> payload_;
  std::optional<oci::Manifest> release_manifest_;
  std::vector<CheckedComponent> components_;
  std::map<codec::Digest, LinkVerdict> hashed_;  ///< layers
  std::mutex mutex_;  ///< guards the report and what is hashed while work goes on in parallel
};

}  // namespace

std::string_view to_string(LinkVerdict verdict) {
  switch (verdict) {
    case LinkVerdict::kOk: return "ok";
    case LinkVerdict::kListed: return "listed";
    case LinkVerdict::kNotChecked: return "notChecked";
    case LinkVerdict::kAbsent: return "absent";
    case LinkVerdict::kRefused: return "refused";
    case LinkVerdict::kUnreachable: return "unreachable";
    case LinkVerdict::kFailed: return "failed";
  }
  return "unknown";
}

Status verify_chain(const ReleasePlace& place, const ChainOptions& options, ChainReport& report,
                    runtime::Runtime& runtime, const runtime::Call& call) {
  return ChainWalk(place, options, report, runtime, call).run();
}

}  // namespace strake::release
