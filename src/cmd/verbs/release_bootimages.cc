#include <filesystem>

#include <fmt/ranges.h>

#include "base/text.h"
#include "base/text_table.h"
#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/input/release_input.h"
#include "cmd/input/text_input.h"
#include "cmd/output/result_document.h"
#include "release/boot_artifacts.h"
#include "stream/query.h"

namespace strake::cmd {

namespace {

constexpr ArgumentSpec kBootimagesRelease[] = {{"REF", kReleaseArgumentHelp}};
enum class BootimagesFormat { kText, kJson, kStream };
constexpr std::string_view kBootimagesKind = "ReleaseBootImages";
constexpr std::string_view kBootimagesFormats[] = {"text", "json", "stream"};
constexpr OptionSpec kReleaseBootimagesOwnOptions[] = {
    {"arch", "NAME", "only for x86_64, aarch64, ppc64le or s390x; default: all"},
    {"platform", "NAME", "only for aws, metal, vmware (or vsphere), ..."},
    {"stream", "NAME", "only of this stream, where there are several (rhel-9, rhel-10)"},
    {"format", "NAME", "only of this format: iso, ova, qcow2.gz, ..."},
    {"download", "DIR", "bring the files listed into this folder, each checked against its SHA-256", "", kFolderValue},
    {"decompress", "", "with --download: unpack gz, xz and zst on the way; the checksum of the content counts too"},
    {"o,output", "FORMAT", "text, json or stream (the metadata itself, as print-stream-json has it)", "text",
     one_of(kBootimagesFormats)},
    kFetchArtifactsOption,
    kAllowLocationOption};
constexpr auto kReleaseBootimagesOptions = join_options(kReleaseBootimagesOwnOptions, kImageOptions);

struct ListedArtifact {
  release::BootArtifact artifact;
  bool beside_release = false;
};

Result<std::vector<ListedArtifact>> list_artifacts(const stream::StreamSet& streams, const release::ReleasePlace& place,
                                                   const runtime::Call& call) {
  STRAKE_TRY(release::BootArtifactList list, release::boot_artifacts_of(streams));
  std::vector<ListedArtifact> listed;
  for (release::BootArtifact& artifact : list.artifacts) {
    const Result<release::PlacedArtifact> placed = release::find_artifact(place, artifact, call);
    if (!placed.ok() && placed.error().code() != Code::kNotFound) return placed.error();
    listed.push_back({std::move(artifact), placed.ok()});
  }
  return listed;
}

json::Value artifact_json(const ListedArtifact& listed) {
  const release::BootArtifact& artifact = listed.artifact;
  return json::Object{{"arch", artifact.arch},
                      {"platform", artifact.platform},
                      {"format", artifact.format},
                      {"member", artifact.member},
                      {"sha256", artifact.digest.hex()},
                      {"location", artifact.location},
                      {"besideRelease", listed.beside_release}};
}

/// The streams asked for, narrowed to architecture and platform.
Result<stream::StreamSet> chosen_streams(const stream::StreamSet& all, const Invocation& invocation) {
  const stream::StreamQuery query{stream::rpm_architecture(invocation.value("arch")),
                                  stream::stream_platform(invocation.value("platform")), "",
                                  invocation.value("format")};
  const std::string& name = invocation.value("stream");
  stream::StreamSet chosen;
  if (!name.empty()) {
    STRAKE_TRY(const stream::Stream* stream, all.find(name));
    STRAKE_TRY(chosen.default_stream, stream::narrow_stream(*stream, query));
    return chosen;
  }
  if (all.default_stream) {
    STRAKE_TRY(chosen.default_stream, stream::narrow_stream(*all.default_stream, query));
  }
  // A platform need not be in every stream, but in one of them.
  std::optional<Error> absent;
  for (const auto& [key, stream] : all.by_name) {
    Result<stream::Stream> narrowed = stream::narrow_stream(stream, query).context("stream {}", key);
    if (narrowed.ok()) {
      chosen.by_name.emplace(key, *std::move(narrowed));
    } else if (narrowed.error().code() != Code::kNotFound) {
      return std::move(narrowed).error();
    } else if (!absent) {
      absent = std::move(narrowed).error();
    }
  }
  if (absent && chosen.by_name.empty()) return *std::move(absent);
  return chosen;
}

std::string origin_of(release::DownloadOutcome outcome, const release::BootArtifact& artifact) {
  switch (outcome) {
    case release::DownloadOutcome::kPresent: return "was there";
    case release::DownloadOutcome::kFromRelease: return "from beside the release";
    case release::DownloadOutcome::kFromCache: return "from the cache";
    case release::DownloadOutcome::kFromLocation: break;
  }
  return artifact.location;
}

Status require_carried(ImageAccess& access, const release::ReleasePlace& place,
                       const std::vector<ListedArtifact>& listed) {
  std::vector<std::string> missing;
  for (const auto& [artifact, beside] : listed) {
    if (!beside && !release::find_cached(access.cache(), artifact)) missing.push_back(artifact.label());
  }
  if (missing.empty()) return {};
  return error(Code::kNotFound,
               "{} does not carry {}; --fetch-artifacts fetches them from their locations, --platform, --arch and "
               "--format choose others",
               place.home().description(), fmt::join(missing, ", "))
      .with_verdict(Verdict::kAbsent);
}

Status download(const Invocation& invocation, ImageAccess& access, const release::ReleasePlace& place,
                const std::vector<ListedArtifact>& listed) {
  STRAKE_TRY(net::ClientOptions client, foreign_client(invocation));
  STRAKE_TRY(const release::ArtifactDownloads downloads,
             release::ArtifactDownloads::create(access.runtime(), std::move(client), access.hooks()));
  const std::filesystem::path folder = invocation.value("download");
  if (!may_fetch_artifacts(invocation, place)) STRAKE_CHECK_OK(require_carried(access, place, listed));
  const bool unpack = invocation.is_set("decompress");
  const auto bring = unpack ? release::download_unpacked : release::download_artifact;
  for (const auto& [artifact, beside] : listed) {
    STRAKE_TRY_CONTEXT(const release::DownloadOutcome outcome,
                       bring(place, downloads, artifact, folder, access.cache(), access.runtime(), access.call()),
                       "{} ({})", artifact.label(), artifact.location);
    const std::optional<std::string> unpacked = unpack ? release::unpacked_name(artifact.file_name) : std::nullopt;
    invocation.out().text(
        fmt::format("{}  sha256 {}  {}\n", (folder / unpacked.value_or(artifact.file_name)).string(),
                    unpacked ? (artifact.unpacked ? artifact.unpacked->hex() : "not known") : artifact.digest.hex(),
                    origin_of(outcome, artifact)));
  }
  return {};
}

std::string artifact_table(const std::vector<ListedArtifact>& listed) {
  std::vector<std::vector<std::string>> rows{{"ARCH", "PLATFORM", "FORMAT", "FILE", "BESIDE RELEASE", "SHA256"}};
  for (const auto& [artifact, beside] : listed) {
    rows.push_back({artifact.arch, artifact.platform, fmt::format("{} {}", artifact.format, artifact.member),
                    artifact.file_name, beside ? "yes" : "no", artifact.digest.hex()});
  }
  return align_columns(rows);
}

Result<int> list_bootimages(const Invocation& invocation) {
  const auto format = invocation.choice<BootimagesFormat>("output");
  Invocation of_release = invocation;
  of_release.forget("arch");  // it chooses among the boot images, not the release image
  if (invocation.is_set("decompress") && !invocation.has("download")) {
    return error(Code::kInvalidArgument, "--decompress goes with --download");
  }
  STRAKE_TRY(const std::unique_ptr<ImageAccess> access, ImageAccess::create(of_release));
  STRAKE_TRY(const auto place, open_release(*access, invocation.value("REF")));
  STRAKE_TRY(const release::ReleasePayload payload, read_release(*access, *place));
  if (!payload.boot_images) {
    return error(Code::kNotFound, "release {} carries no boot image metadata (manifest coreos-bootimages)",
                 payload.version)
        .with_verdict(Verdict::kAbsent);
  }
  STRAKE_TRY(const stream::StreamSet chosen, blocked_when_absent(chosen_streams(payload.boot_images->set, invocation)));
  if (format == BootimagesFormat::kStream) {
    STRAKE_TRY(const stream::Stream* stream, blocked_when_absent(chosen.find("")));
    if (chosen.by_name.size() > 1) {
      invocation.out().warn(
          fmt::format("release {} has several streams ({}); this is the default one, --stream chooses", payload.version,
                      names_in(chosen.by_name)));
    }
    invocation.out().document(json::write_pretty(stream->document));
    return kExitOk;
  }
  STRAKE_TRY(const std::vector<ListedArtifact> listed, list_artifacts(chosen, *place, access->call()));
  if (!invocation.value("download").empty()) {
    STRAKE_CHECK_OK(download(invocation, *access, *place, listed));
    return kExitOk;
  }
  if (format == BootimagesFormat::kJson) {
    json::Array items;
    for (const ListedArtifact& each : listed) items.push_back(artifact_json(each));
    invocation.out().document(json::write_pretty(result_document(
        kBootimagesKind, kResultOk,
        {{"version", payload.version}, {"digest", payload.digest.to_string()}, {"artifacts", std::move(items)}})));
    return kExitOk;
  }
  if (chosen.default_stream) invocation.out().text(stream::describe_stream(*chosen.default_stream));
  for (const auto& [name, stream] : chosen.by_name)
    invocation.out().text(fmt::format("\nstream {}\n", name) + stream::describe_stream(stream));
  invocation.out().text("\n" + artifact_table(listed));
  return kExitOk;
}

Result<int> run_release_bootimages(const Invocation& invocation) {
  const bool as_json = invocation.choice<BootimagesFormat>("output") == BootimagesFormat::kJson;
  return run_with_result(invocation, kBootimagesKind, as_json, [&] { return list_bootimages(invocation); });
}

constexpr ExitMeaning kReleaseBootimagesExits[] = {
    {kExitOk, "listed"},
    {kExitBlocked, "the release has no such metadata, stream, architecture or platform; the message names what exists"},
    kRegistryUnreachable,
    kImageNotGenuine};

}  // namespace

const CommandSpec kReleaseBootimagesCommand{
    "release bootimages",
    "List the boot images a release stands for: files with checksums, cloud images.",
    "Every file the release's metadata names, once, with its SHA-256; BESIDE RELEASE says whether a mirror carries the "
    "file itself (`strake release mirror`), so that it needs no download from elsewhere. -o stream prints the default "
    "stream as `openshift-install coreos print-stream-json` does. With --decompress a compressed file never lies on "
    "disk: what is in it does, under its name without .gz, once the checksums of both were right; a download that died "
    "begins anew then, where others go on.\n\n"
    "  strake release bootimages registry.example.com/ocp/release:4.21.0-x86_64 --platform metal\n"
    "  strake release bootimages ./mirror.tar --arch x86_64 --platform vmware --download .\n"
    "  strake release bootimages ./mirror.tar --platform openstack --download . --decompress\n"
    "  strake release bootimages ./release -o stream | jq .architectures.x86_64.artifacts.vmware",
    kBootimagesRelease,
    kReleaseBootimagesOptions,
    run_release_bootimages,
    kReleaseBootimagesExits};

}  // namespace strake::cmd
