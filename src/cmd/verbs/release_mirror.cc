#include <filesystem>

#include <fmt/ranges.h>

#include "api/node_annotations.h"
#include "base/fd.h"
#include "base/text.h"
#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/input/release_input.h"
#include "cmd/input/text_input.h"
#include "cmd/output/format.h"
#include "cmd/output/result_document.h"
#include "codec/yaml.h"
#include "release/mirror_folder.h"
#include "release/mirror_release.h"

namespace strake::cmd {

namespace {

constexpr std::string_view kArchiveSuffix = ".tar";
constexpr std::string_view kReleaseMirrorKind = "ReleaseMirror";

constexpr ArgumentSpec kReleaseMirrorArguments[] = {
    {"REF", kReleaseArgumentHelp},
    {"TARGET", "where to: registry.example.com/ocp/release (a repository), ./FOLDER or ./FILE.tar"}};
constexpr OptionSpec kReleaseMirrorOwnOptions[] = {
    {"keyring", "FILE", "OpenPGP public keys, one of which has to have signed the release", "", kFileValue},
    {"kubeconfig", "FILE", "instead of --keyring: the keyrings this cluster keeps (strake release trust)", "",
     kFileValue},
    {"context", "NAME", "instead of --keyring: those of the cluster this context of the kubeconfig names"},
    kTimeoutOption,
    kSignatureStoreOption,
    kAllowLocationOption,
    {"unsigned", "", "mirror a release that has no good signature; the mirror's index says so"},
    {"artifacts", "WHICH", "boot artifacts to copy: all, none, or platforms (metal,vmware; vsphere is vmware)", "all"},
    {"artifact-arch", "LIST", "architectures of boot artifacts (x86_64,aarch64) or all; default: the release's own"},
    kFetchArtifactsOption,
    {"manifests", "DIR",
     "write mirror sets (of a repository) and signature ConfigMap there; default: those of a repository are printed",
     "", kFolderValue},
    {"dry-run", "", "copy nothing; say what would be copied, how much of it is new, and from where"},
    kOutputOption,
    kImageArchOption};
constexpr auto kReleaseMirrorOptions = join_options(kReleaseMirrorOwnOptions, kImageOptions);

struct MirrorTarget {
  enum class Kind { kRepository, kFolder, kArchive };
  Kind kind = Kind::kRepository;
  std::filesystem::path path;
  std::optional<oci::Reference> repository;
};

/// A name that a careless hand meant for a path, or that lacks its registry, would go to Docker Hub.
Status require_registry(std::string_view text) {
  std::error_code ignored;
  if (std::filesystem::exists(text, ignored)) {
    return error(Code::kInvalidArgument, "TARGET '{0}' exists here as a file or folder: write ./{0} if that is meant",
                 text);
  }
  if (oci::names_its_registry(text)) return {};
  return error(Code::kInvalidArgument,
               "TARGET '{0}' names no registry: write ./{0} for a folder or tar, REGISTRY/{0} for a repository "
               "(docker.io/{0} on Docker Hub)",
               text);
}

Result<MirrorTarget> parse_target(std::string_view text) {
  MirrorTarget target;
  if (oci::looks_like_path(text)) {
    target.kind = text.ends_with(kArchiveSuffix) ? MirrorTarget::Kind::kArchive : MirrorTarget::Kind::kFolder;
    target.path = text;
    return target;
  }
  STRAKE_CHECK_OK(require_registry(text));
  STRAKE_TRY_CONTEXT(target.repository, oci::parse_reference(text), "TARGET");
  if (!target.repository->tag.empty() || target.repository->digest) {
    return error(Code::kInvalidArgument,
                 "TARGET '{}': a repository without tag and digest is expected; the release's version becomes the tag",
                 text);
  }
  return target;
}

/// The architecture a release image is built for, as tags of mirrors name it.
Result<std::string> architecture_of(const release::ReleasePlace& place, const oci::Platform& platform,
                                    const runtime::Call& call) {
  STRAKE_TRY(const release::PlacedImage image, place.find_release(call));
  if (oci::is_index_type(image.entry.media_type)) return std::string("multi");
  STRAKE_TRY(const oci::Descriptor manifest_entry,
             image.source->resolve(image.entry.digest.to_string(), platform, call));
  STRAKE_TRY(const oci::Manifest manifest, image.source->read_manifest(manifest_entry, call));
  STRAKE_TRY(const oci::ImageConfig config, image.source->read_config(manifest, call));
  return stream::rpm_architecture(config.platform.architecture);
}

std::set<std::string> artifact_architectures(const std::string& asked, const std::string& of_release) {
  if (asked == "all" || (asked.empty() && of_release == "multi")) return {};
  std::set<std::string> architectures;
  for (const std::string& name : release::names_in_list(asked.empty() ? of_release : asked)) {
    architectures.insert(stream::rpm_architecture(name));
  }
  return architectures;
}

Status require_architectures(const std::vector<release::BootArtifact>& artifacts, const std::string& asked) {
  if (asked.empty() || asked == "all") return {};
  std::set<std::string> known;
  for (const release::BootArtifact& artifact : artifacts) known.insert(artifact.arch);
  for (const std::string& name : release::names_in_list(asked)) {
    if (known.contains(stream::rpm_architecture(name))) continue;
    return error(Code::kNotFound, "--artifact-arch {}: the release has no boot artifacts for it (it has: {})", name,
                 fmt::join(known, ", "))
        .with_verdict(Verdict::kAbsent);
  }
  return {};
}

Result<std::vector<release::BootArtifact>> chosen_artifacts(const Invocation& invocation,
                                                            const release::ReleasePayload& payload,
                                                            const std::string& arch) {
  if (!payload.boot_images) return std::vector<release::BootArtifact>();
  STRAKE_TRY(release::BootArtifactList list, release::boot_artifacts_of(payload.boot_images->set));
  if (!list.without_sum.empty()) {
    invocation.out().warn(
        fmt::format("{} boot artifacts have no SHA-256 in the release and are not mirrored", list.without_sum.size()));
  }
  STRAKE_CHECK_OK(require_architectures(list.artifacts, invocation.value("artifact-arch")));
  return blocked_when_absent(
      release::choose_artifacts(std::move(list.artifacts), invocation.value("artifacts"),
                                artifact_architectures(invocation.value("artifact-arch"), arch)));
}

struct MirroredSource {
  release::ProvenRelease release;
  std::vector<release::AcceptedSignature> carried;  ///< of an unsigned one too: somebody else may trust them
};

Status require_keyrings(const Invocation& invocation, release::SignatureDemand& demand) {
  if (!demand.keyrings.empty()) return {};
  if (invocation.has("kubeconfig") || invocation.has("context")) {
    runtime::ThreadRuntime runtime;
    STRAKE_TRY(const auto api, connect(runtime, invocation));
    STRAKE_TRY(release::Keyring kept,
               kept_keyring_of(*api, cluster_call(runtime, invocation), "give --keyring FILE, or --unsigned"));
    demand.keyrings.push_back(std::move(kept));
    return {};
  }
  return error(Code::kDenied,
               "{}: give --keyring FILE, or --kubeconfig FILE of a cluster that keeps keyrings, or copy the release as "
               "it is with --unsigned",
               kNoKeyringKnown)
      .with_verdict(Verdict::kBlocked);
}

Result<MirroredSource> read_mirrored(const Invocation& invocation, ImageAccess& access,
                                     const release::ReleasePlace& place) {
  STRAKE_TRY(ReleaseDemand whole, signature_demand(invocation));
  release::SignatureDemand& demand = whole.signatures;
  const bool take_unsigned = invocation.is_set("unsigned");
  if (!take_unsigned) STRAKE_CHECK_OK(require_keyrings(invocation, demand));
  if (!demand.keyrings.empty()) {
    Result<release::ProvenRelease> proven =
        release::read_proven_release(place, release_reading(access, place), demand, access.runtime(), access.call());
    if (proven.ok()) {
      for (const std::string& warning : proven->warnings()) invocation.out().warn(warning);
      std::vector<release::AcceptedSignature> signatures = proven->signatures();
      return MirroredSource{*std::move(proven), std::move(signatures)};
    }
    const bool not_signed = proven.error().code() == Code::kDenied;
    if (!take_unsigned || !not_signed) {
      return not_signed ? std::move(proven).error().context("nothing was copied (--unsigned copies it nevertheless)")
                        : std::move(proven).error();
    }
    invocation.out().warn(fmt::format("the release is not signed: {}", proven.error().to_string()));
  } else {
    invocation.out().warn("the release is copied unsigned: nobody you named vouches for it");
  }
  STRAKE_TRY(release::ReleasePayload payload, read_release(access, place));
  // What its own keyrings accept proves nothing here, and may be of use to whoever the copy is for.
  demand.keyrings.clear();
  Result<release::SignatureProof> own =
      release::prove_signatures(place, payload.digest, demand, [&] { return &payload.manifests; }, access.call());
  if (!own.ok() && own.error().code() == Code::kCancelled) return std::move(own).error();
  return MirroredSource{release::ProvenRelease::accept_unsigned(std::move(payload)),
                        own.ok() ? std::move(own->verdict.accepted) : std::vector<release::AcceptedSignature>()};
}

std::string describe_step(const release::MirroredStep& done) {
  return fmt::format("{} {}: {} blobs copied ({} bytes), {} were there{}", to_string(done.step.kind), done.step.subject,
                     done.copied.blobs_written, done.copied.bytes_written,
                     done.copied.blobs_present + done.copied.blobs_mounted,
                     done.with_sigstore ? ", sigstore signatures too" : "");
}

/// What a cluster needs to use the copy. Success means that it is where it belongs.
Status hand_out_manifests(const Invocation& invocation, const std::vector<json::Value>& objects) {
  const std::string& directory = invocation.value("manifests");
  if (directory.empty()) {
    for (const json::Value& object : objects) {
      STRAKE_TRY(const std::string text, yaml::emit(object));
      invocation.out().document("---\n" + text);
    }
    return invocation.out().finish();
  }
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure) return errno_error(failure.value(), directory);
  for (const json::Value& object : objects) {
    STRAKE_TRY(const std::string text, yaml::emit(object));
    const std::string name = lower_case(fmt::format("{}-{}.yaml", json::find_string(object, {"kind"}).value_or(""),
                                                    json::find_string(object, {"metadata", "name"}).value_or("")));
    STRAKE_CHECK_OK(write_file_atomic(std::filesystem::path(directory) / name, text, 0644));
  }
  return {};
}

class MirrorJob {
 public:
  MirrorJob(const Invocation& invocation, ImageAccess& access, const release::ReleasePlace& place,
            const MirroredSource& source)
      : invocation_(invocation),
        access_(access),
        place_(place),
        payload_(source.release.payload()),
        proof_(source.release.proof()),
        signatures_(source.carried) {}

  Status run(const MirrorTarget& target) {
    STRAKE_TRY(const std::string arch, architecture_of(place_, access_.platform(), access_.call()));
    STRAKE_TRY(std::vector<release::BootArtifact> artifacts, chosen_artifacts(invocation_, payload_, arch));
    if (!may_fetch_artifacts(invocation_, place_)) STRAKE_CHECK_OK(keep_carried(artifacts));
    const auto plan = release::plan_mirror(payload_, arch, artifacts, !signatures_.empty());
    note_steps(plan);
    STRAKE_TRY(net::ClientOptions client, foreign_client(invocation_));
    STRAKE_TRY(const release::ArtifactDownloads downloads,
               release::ArtifactDownloads::create(access_.runtime(), std::move(client), access_.hooks()));
    const release::ArtifactSource artifact_source(downloads, artifacts, access_.runtime());
    const release::MirrorSources sources{place_, artifact_source, signatures_};
    if (invocation_.is_set("dry-run")) return measure(target, sources, plan);
    switch (target.kind) {
      case MirrorTarget::Kind::kRepository: return to_repository(*target.repository, sources, plan);
      case MirrorTarget::Kind::kFolder: return to_folder(target.path, sources, plan);
      case MirrorTarget::Kind::kArchive: return to_archive(target.path, sources, plan);
    }
    return error(Code::kInternal, "unknown kind of target");
  }

  /// What was copied, for scripts.
  json::Object report() const {
    json::Array missing;
    for (const release::BootArtifact& artifact : not_carried_) {
      missing.push_back(json::Object{
          {"subject", artifact.label()}, {"digest", artifact.digest.to_string()}, {"location", artifact.location}});
    }
    return {{"version", payload_.version},
            {"digest", payload_.digest.to_string()},
            {"target", invocation_.value("TARGET")},
            {"dryRun", invocation_.is_set("dry-run")},
            {"unsigned", !proof_.is_signed()},
            {"signature", proof_.public_record()},
            {"steps", steps_},
            {"images", totals_.images},
            {"blobsWritten", totals_.blobs_written},
            {"blobsPresent", totals_.blobs_present},
            {"bytesWritten", totals_.bytes_written},
            {"sigstoreSignatures", totals_.sigstore_signatures},
            {"artifactsNotCarried", std::move(missing)}};
  }

 private:
  void note_steps(const std::vector<release::MirrorStep>& plan) {
    for (const release::MirrorStep& step : plan) {
      steps_.push_back(json::Object{{"kind", to_string(step.kind)},
                                    {"subject", step.subject},
                                    {"source", step.repository},
                                    {"digest", step.digest.to_string()},
                                    {"tag", step.tag}});
    }
  }

  /// Leaves out what the release does not carry, and says so. What was asked for by name has to be there.
  Status keep_carried(std::vector<release::BootArtifact>& artifacts) {
    STRAKE_TRY(release::ArtifactsBeside sorted, release::look_beside(place_, std::move(artifacts), access_.call()));
    artifacts = std::move(sorted.beside);
    not_carried_ = std::move(sorted.elsewhere);
    if (not_carried_.empty()) return {};
    std::vector<std::string> labels;
    labels.reserve(not_carried_.size());
    for (const release::BootArtifact& artifact : not_carried_) labels.push_back(artifact.label());
    const std::string said =
        fmt::format("{} does not carry {} boot artifacts ({}); --fetch-artifacts fetches them from their locations",
                    place_.home().description(), labels.size(), fmt::join(labels, ", "));
    if (invocation_.value("artifacts") != "all") {
      return error(Code::kNotFound, "{}", said).with_verdict(Verdict::kAbsent);
    }
    invocation_.out().warn(said + "; the mirror is made without them");
    return {};
  }

  Status copy(const release::MirrorSources& sources, const std::vector<release::MirrorStep>& plan,
              const release::TargetFor& target_for, const std::vector<json::Value>& manifests) {
    const auto report_step = [&](const release::MirroredStep& done) {
      invocation_.out().progress(describe_step(done));
    };
    const auto hand_out = [&] { return hand_out_manifests(invocation_, manifests); };
    STRAKE_TRY(totals_, release::mirror_release(sources, plan, target_for,
                                                {.parallel = 4, .before_release = hand_out, .on_step = report_step},
                                                access_.runtime(), access_.call()));
    const release::MirrorTotals& totals = totals_;
    invocation_.out().progress(
        fmt::format("release {}: {} images, {} blobs copied ({} bytes), {} were there, {} with sigstore signatures",
                    payload_.version, totals.images, totals.blobs_written, totals.bytes_written, totals.blobs_present,
                    totals.sigstore_signatures));
    return {};
  }

  /// The same run, to a target that takes nothing: sizes and places are those of the real one.
  Status measure(const MirrorTarget& target, const release::MirrorSources& sources,
                 const std::vector<release::MirrorStep>& plan) {
    auto measuring = std::make_unique<oci::MeasuringTarget>();
    if (target.kind == MirrorTarget::Kind::kRepository) {
      STRAKE_TRY(measuring, oci::MeasuringTarget::for_repository(*target.repository, access_.registries()));
    }
    const bool as_text = !wants_json(invocation_);
    const auto tell = [&](const release::MirroredStep& found) {
      if (!as_text) return;
      invocation_.out().text(fmt::format("{} {}: {}@{} as {}: {} to copy, from {}\n", to_string(found.step.kind),
                                         found.step.subject, found.step.repository, found.step.digest.to_string(),
                                         found.step.tag, human_bytes(found.copied.bytes_written), found.source));
    };
    STRAKE_TRY(totals_,
               release::mirror_release(
                   sources, plan, [&](const std::string&) { return Result<oci::ImageTarget*>(measuring.get()); },
                   {.parallel = 4, .before_release = {}, .on_step = tell}, access_.runtime(), access_.call()));
    if (as_text) {
      invocation_.out().text(fmt::format("release {}: {} images, {} in {} blobs to copy, {} blobs are there\n",
                                         payload_.version, totals_.images, human_bytes(totals_.bytes_written),
                                         totals_.blobs_written, totals_.blobs_present));
    }
    return {};
  }

  Status to_repository(const oci::Reference& repository, const release::MirrorSources& sources,
                       const std::vector<release::MirrorStep>& plan) {
    STRAKE_TRY(const std::unique_ptr<oci::RegistryTarget> target,
               oci::RegistryTarget::open(repository, access_.registries()));
    std::vector<json::Value> objects = release::mirror_sets(plan, repository.name());
    if (!proof_.is_signed()) {
      for (json::Value& object : objects) {
        json::ensure(object, {"metadata", "annotations", api::config_annotation::kReleaseSignature}) =
            proof_.public_record();
      }
    }
    add_signatures(objects, sources);
    return copy(sources, plan, [&](const std::string&) { return Result<oci::ImageTarget*>(target.get()); }, objects);
  }

  void add_signatures(std::vector<json::Value>& objects, const release::MirrorSources& sources) const {
    if (sources.signatures.empty()) return;
    objects.push_back(release::signature_config_map(payload_.digest, sources.signatures));
  }

  Status to_folder(const std::filesystem::path& folder, const release::MirrorSources& sources,
                   const std::vector<release::MirrorStep>& plan) {
    STRAKE_TRY(const std::unique_ptr<release::MirrorWriter> writer,
               release::MirrorWriter::open(folder, access_.runtime()));
    // Where the mirror will be is not known yet: its mirror sets come when it goes into a registry.
    std::vector<json::Value> objects;
    if (!invocation_.value("manifests").empty()) add_signatures(objects, sources);
    STRAKE_CHECK_OK(
        copy(sources, plan, [&](const std::string& repository) { return writer->target(repository); }, objects));
    const release::MirrorStep& last = plan.back();
    return writer->add_release(
        {payload_.version, payload_.digest.to_string(), last.repository, last.tag, proof_.public_record()});
  }

  /// By way of a folder beside it, so that a copy that died goes on.
  Status to_archive(const std::filesystem::path& archive, const release::MirrorSources& sources,
                    const std::vector<release::MirrorStep>& plan) {
    const std::filesystem::path folder = archive.string() + ".partial";
    STRAKE_CHECK_OK(to_folder(folder, sources, plan));
    STRAKE_CHECK_OK(release::pack_folder(folder, archive));
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    return {};
  }

  const Invocation& invocation_;
  ImageAccess& access_;
  const release::ReleasePlace& place_;
  const release::ReleasePayload& payload_;
  const release::ReleaseProof& proof_;
  const std::vector<release::AcceptedSignature>& signatures_;
  json::Array steps_;
  std::vector<release::BootArtifact> not_carried_;
  release::MirrorTotals totals_;
};

Result<int> mirror(const Invocation& invocation, bool as_json) {
  STRAKE_TRY(const MirrorTarget target, parse_target(invocation.value("TARGET")));
  if (!invocation.is_set("dry-run") && as_json && target.kind == MirrorTarget::Kind::kRepository &&
      invocation.value("manifests").empty()) {
    return error(Code::kInvalidArgument,
                 "-o json goes with --manifests DIR: mirror sets and report cannot both go to standard output");
  }
  STRAKE_TRY(const std::unique_ptr<ImageAccess> access, ImageAccess::create(invocation));
  STRAKE_TRY(const auto place, open_release(*access, invocation.value("REF")));
  STRAKE_TRY(const MirroredSource source, read_mirrored(invocation, *access, *place));
  MirrorJob job(invocation, *access, *place, source);
  STRAKE_CHECK_OK(job.run(target));
  if (as_json) {
    invocation.out().document(json::write_pretty(result_document(kReleaseMirrorKind, kResultOk, job.report())));
  }
  return kExitOk;
}

Result<int> run_release_mirror(const Invocation& invocation) {
  const bool as_json = wants_json(invocation);
  return run_with_result(invocation, kReleaseMirrorKind, as_json, [&] { return mirror(invocation, as_json); });
}

constexpr ExitMeaning kReleaseMirrorExits[] = {
    {kExitOk, "mirrored"},
    {kExitBlocked,
     "no keyring was given, or the release, or boot artifacts for such a platform or architecture, are not there; the "
     "message says which"},
    kRegistryUnreachable,
    {kExitNotGenuine, "refused: not signed as demanded, or content is not what its digest promises"}};

}  // namespace

const CommandSpec kReleaseMirrorCommand{
    "release mirror",
    "Copy a release with everything it names, boot images too, to a registry, a folder or a tar.",
    "The release has to be signed by a key of yours (--keyring), or of the keyrings a cluster keeps (--kubeconfig, "
    "--context); those the release names itself do not count. With --unsigned it is copied as it is, and the index of "
    "the mirror, its mirror sets and -o json say so. A tag is looked up once: what is copied is what was checked.\n\n"
    "Copied are: component images, their sigstore signatures (.sig tags), the boot artifacts the release's metadata "
    "names, the OpenPGP signatures that were found good, and last the release image. Every digest stays. What is there "
    "already is not copied again; a copy that died goes on when it is repeated. A folder or tar reaches out for "
    "nothing: "
    "boot artifacts it does not carry are named and left out, or fetched with --fetch-artifacts.\n\n"
    "  a repository   everything in one, tags VERSION-ARCH and VERSION-ARCH-COMPONENT; prints\n"
    "                 ImageDigestMirrorSet, ImageTagMirrorSet and the signature ConfigMap for the cluster\n"
    "  ./FOLDER       one OCI layout a repository and an index; may hold several releases\n"
    "  ./FILE.tar     the same as one file; the folder FILE.tar.partial is used meanwhile\n\n"
    "Folder and tar are releases for every verb (strake release verify ./FILE.tar), and mirror takes them to the "
    "registry on the other side:\n\n"
    "  strake release mirror quay.io/ocp/release:4.21.0-x86_64 ./release.tar --keyring ./vendor.asc\n"
    "  strake release mirror ./release.tar registry.example.com/ocp --keyring ./vendor.asc > sets.yaml",
    kReleaseMirrorArguments,
    kReleaseMirrorOptions,
    run_release_mirror,
    kReleaseMirrorExits};

}  // namespace strake::cmd
