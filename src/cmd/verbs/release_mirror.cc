#include <filesystem>

#include "base/fd.h"
#include "base/text.h"
#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/input/release_input.h"
#include "cmd/input/text_input.h"
#include "codec/yaml.h"
#include "release/mirror_folder.h"
#include "release/mirror_release.h"

namespace strake::cmd {

namespace {

constexpr std::string_view kArchiveSuffix = ".tar";

constexpr ArgumentSpec kReleaseMirrorArguments[] = {
    {"REF", kReleaseArgumentHelp},
    {"TARGET", "where to: registry.example.com/ocp/release (a repository), ./FOLDER or ./FILE.tar"}};
constexpr OptionSpec kReleaseMirrorOwnOptions[] = {
    kKeyringOption,
    kSignatureStoreOption,
    {"unsigned", "", "mirror a release that has no good signature"},
    {"artifacts", "WHICH", "boot artifacts to copy: all, none, or platforms (metal,vmware)", "all"},
    {"artifact-arch", "LIST", "architectures of boot artifacts (x86_64,aarch64) or all; default: the release's own"},
    {"manifests", "DIR", "write mirror sets and signature ConfigMap there instead of printing them", "", kFolderValue},
    {"dry-run", "", "only list what would be copied"},
    kImageArchOption};
constexpr auto kReleaseMirrorOptions = join_options(kReleaseMirrorOwnOptions, kImageOptions);

struct MirrorTarget {
  enum class Kind { kRepository, kFolder, kArchive };
  Kind kind = Kind::kRepository;
  std::filesystem::path path;
  std::optional<oci::Reference> repository;
};

Result<MirrorTarget> parse_target(std::string_view text) {
  MirrorTarget target;
  if (oci::looks_like_path(text)) {
    target.kind = text.ends_with(kArchiveSuffix) ? MirrorTarget::Kind::kArchive : MirrorTarget::Kind::kFolder;
    target.path = text;
    return target;
  }
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

Result<std::vector<release::BootArtifact>> chosen_artifacts(const Invocation& invocation,
                                                            const release::ReleasePayload& payload,
                                                            const std::string& arch) {
  if (!payload.boot_images) return std::vector<release::BootArtifact>();
  STRAKE_TRY(release::BootArtifactList list, release::boot_artifacts_of(payload.boot_images->set));
  if (!list.without_sum.empty()) {
    invocation.out().warn(
        fmt::format("{} boot artifacts have no SHA-256 in the release and are not mirrored", list.without_sum.size()));
  }
  return blocked_when_absent(
      release::choose_artifacts(std::move(list.artifacts), invocation.value("artifacts"),
                                artifact_architectures(invocation.value("artifact-arch"), arch)));
}

Result<std::vector<release::AcceptedSignature>> good_signatures(const Invocation& invocation,
                                                                const release::ReleasePlace& place,
                                                                const release::ReleasePayload& payload,
                                                                const runtime::Call& call) {
  STRAKE_TRY(const release::UrlReader reader, release::UrlReader::create(download_client(invocation)));
  STRAKE_TRY(const release::SignatureDemand demand, signature_demand(invocation, reader));
  Result<release::SignatureProof> proof =
      release::prove_signatures(place, payload.digest, demand, [&] { return &payload.manifests; }, call);
  if (proof.ok()) return std::move(proof->verdict.accepted);
  if (!invocation.is_set("unsigned")) {
    return std::move(proof).error().context("nothing was copied (--unsigned copies the release nevertheless)");
  }
  invocation.out().warn(fmt::format("the release is not signed: {}", proof.error().to_string()));
  return std::vector<release::AcceptedSignature>();
}

std::string describe_step(const release::MirroredStep& done) {
  return fmt::format("{} {}: {} blobs copied ({} bytes), {} were there{}", to_string(done.step.kind), done.step.subject,
                     done.copied.blobs_written, done.copied.bytes_written,
                     done.copied.blobs_present + done.copied.blobs_mounted,
                     done.with_sigstore ? ", sigstore signatures too" : "");
}

/// What a cluster needs to use the copy.
Status hand_out_manifests(const Invocation& invocation, const std::vector<json::Value>& objects) {
  const std::string& directory = invocation.value("manifests");
  if (directory.empty()) {
    for (const json::Value& object : objects) {
      STRAKE_TRY(const std::string text, yaml::emit(object));
      invocation.out().document("---\n" + text);
    }
    return {};
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
            const release::ReleasePayload& payload)
      : invocation_(invocation), access_(access), place_(place), payload_(payload) {}

  Status run(const MirrorTarget& target) {
    STRAKE_TRY(const std::string arch, architecture_of(place_, access_.platform(), access_.call()));
    STRAKE_TRY(const std::vector<release::BootArtifact> artifacts, chosen_artifacts(invocation_, payload_, arch));
    STRAKE_TRY(auto signatures, good_signatures(invocation_, place_, payload_, access_.call()));
    const auto plan = release::plan_mirror(payload_, arch, artifacts, !signatures.empty());
    if (invocation_.is_set("dry-run")) {
      for (const release::MirrorStep& step : plan) {
        invocation_.out().text(fmt::format("{} {}: {}@{} as {}\n", to_string(step.kind), step.subject, step.repository,
                                           step.digest.to_string(), step.tag));
      }
      return {};
    }
    STRAKE_TRY(const release::ArtifactDownloads downloads,
               release::ArtifactDownloads::create(download_client(invocation_)));
    const release::ArtifactSource artifact_source(downloads, artifacts, access_.runtime());
    const release::MirrorSources sources{place_, artifact_source, std::move(signatures)};
    switch (target.kind) {
      case MirrorTarget::Kind::kRepository: return to_repository(*target.repository, sources, plan);
      case MirrorTarget::Kind::kFolder: return to_folder(target.path, sources, plan);
      case MirrorTarget::Kind::kArchive: return to_archive(target.path, sources, plan);
    }
    return error(Code::kInternal, "unknown kind of target");
  }

 private:
  Status copy(const release::MirrorSources& sources, const std::vector<release::MirrorStep>& plan,
              const release::TargetFor& target_for) {
    const auto report_step = [&](const release::MirroredStep& done) {
      invocation_.out().progress(describe_step(done));
    };
    STRAKE_TRY(const release::MirrorTotals totals,
               release::mirror_release(sources, plan, target_for, {.parallel = 4, .on_step = report_step},
                                       access_.runtime(), access_.call()));
    invocation_.out().progress(
        fmt::format("release {}: {} images, {} blobs copied ({} bytes), {} were there, {} with sigstore signatures",
                    payload_.version, totals.images, totals.blobs_written, totals.bytes_written, totals.blobs_present,
                    totals.sigstore_signatures));
    return {};
  }

  Status to_repository(const oci::Reference& repository, const release::MirrorSources& sources,
                       const std::vector<release::MirrorStep>& plan) {
    STRAKE_TRY(const std::unique_ptr<oci::RegistryTarget> target,
               oci::RegistryTarget::open(repository, access_.registries()));
    STRAKE_CHECK_OK(copy(sources, plan, [&](const std::string&) { return Result<oci::ImageTarget*>(target.get()); }));
    std::vector<json::Value> objects = release::mirror_sets(plan, repository.name());
    if (!sources.signatures.empty()) {
      objects.push_back(release::signature_config_map(payload_.digest, sources.signatures));
    }
    return hand_out_manifests(invocation_, objects);
  }

  Status to_folder(const std::filesystem::path& folder, const release::MirrorSources& sources,
                   const std::vector<release::MirrorStep>& plan) {
    STRAKE_TRY(const std::unique_ptr<release::MirrorWriter> writer,
               release::MirrorWriter::open(folder, access_.runtime()));
    STRAKE_CHECK_OK(copy(sources, plan, [&](const std::string& repository) { return writer->target(repository); }));
    const release::MirrorStep& last = plan.back();
    return writer->add_release({payload_.version, payload_.digest.to_string(), last.repository, last.tag});
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
};

Result<int> run_release_mirror(const Invocation& invocation) {
  STRAKE_TRY(const MirrorTarget target, parse_target(invocation.value("TARGET")));
  STRAKE_TRY(const std::unique_ptr<ImageAccess> access, ImageAccess::create(invocation));
  STRAKE_TRY(const auto place, open_release(*access, invocation.value("REF")));
  STRAKE_TRY(const release::ReleasePayload payload, read_release(*access, *place));
  STRAKE_CHECK_OK(MirrorJob(invocation, *access, *place, payload).run(target));
  return kExitOk;
}

constexpr ExitMeaning kReleaseMirrorExits[] = {
    {kExitOk, "mirrored"},
    {kExitBlocked, "no boot artifacts for such a platform; the message names those there are"},
    kRegistryUnreachable,
    kImageNotGenuine};

}  // namespace

const CommandSpec kReleaseMirrorCommand{
    "release mirror",
    "Copy a release with everything it names, boot images too, to a registry, a folder or a tar.",
    "Copied are: component images, their sigstore signatures (.sig tags), the boot artifacts the release's metadata "
    "names, the OpenPGP signatures that were found good, and last the release image. Every digest stays. What is there "
    "already is not copied again; a copy that died goes on when it is repeated.\n\n"
    "  a repository   everything in one, tags VERSION-ARCH and VERSION-ARCH-COMPONENT; prints\n"
    "                 ImageDigestMirrorSet, ImageTagMirrorSet and the signature ConfigMap for the cluster\n"
    "  ./FOLDER       one OCI layout a repository and an index; may hold several releases\n"
    "  ./FILE.tar     the same as one file; the folder FILE.tar.partial is used meanwhile\n\n"
    "Folder and tar are releases for every verb (strake release verify ./FILE.tar), and mirror takes them to the "
    "registry on the other side:\n\n"
    "  strake release mirror quay.io/ocp/release:4.21.0-x86_64 ./release.tar --artifacts metal\n"
    "  strake release mirror ./release.tar registry.example.com/ocp/release > mirror-sets.yaml",
    kReleaseMirrorArguments,
    kReleaseMirrorOptions,
    run_release_mirror,
    kReleaseMirrorExits};

}  // namespace strake::cmd
