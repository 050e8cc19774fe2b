#include <filesystem>

#include <fmt/ranges.h>

#include "bootimage/boot_image_data.h"
#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/input/release_input.h"
#include "cmd/input/text_input.h"
#include "cmd/output/format.h"
#include "cmd/output/result_document.h"
#include "release/stream_mirror.h"
#include "stream/query.h"

namespace strake::cmd {

namespace {

constexpr OptionSpec kFileOption{
    "f,filename", "FILE",
    "metadata in any shape: a stream, ConfigMap coreos-bootimages, rhcos.json, meta.json; - "
    "is standard input",
    "", kFileValue};
constexpr OptionSpec kStreamReleaseOption{"release", "REF",
                                          "the stream inside this release: registry, layout or archive"};
constexpr OptionSpec kMirrorOption{
    "mirror", "URL", "a mirror of boot images (http, https or file): its root, a folder below it, or a .json file"};
constexpr OptionSpec kMirrorVersionOption{"mirror-version", "VERSION", "of the mirror: 4.16.3, 4.16 or latest"};
constexpr OptionSpec kMarketplaceOption{"marketplace", "FILE", "Azure marketplace images to merge into the stream", "",
                                        kFileValue};
constexpr OptionSpec kStreamOption{"stream", "NAME", "which stream, where there are several (rhel-9, rhel-10)"};
constexpr OptionSpec kPlatformOption{"platform", "NAME", "aws, azure, gcp, vmware (or vsphere), metal, ..."};
constexpr OptionSpec kRegionOption{"region", "NAME", "region of the cloud"};
constexpr OptionSpec kFormatOption{"format", "NAME", "format of the file to download: ova, iso, qcow2.gz, ..."};

constexpr OptionSpec kStreamSourceOptions[] = {
    kFileOption,     kStreamReleaseOption, kMirrorOption, kMirrorVersionOption, kMarketplaceOption, kStreamOption,
    kPlatformOption, kRegionOption,        kFormatOption, kKubeconfigOption,    kContextOption,     kTimeoutOption};
constexpr OptionSpec kStreamShowOwnOptions[] = {{"arch", "NAME", "x86_64, aarch64, ...; default: all"}, kOutputOption};
enum class StreamGetFormat { kText, kJson, kReference, kLegacy };
constexpr std::string_view kStreamGetFormats[] = {"text", "json", "reference", "legacy"};
constexpr std::string_view kAzureGenerations[] = {"V1", "V2"};  // in the order of stream::AzureGeneration
constexpr OptionSpec kStreamGetOwnOptions[] = {
    {"generation", "NAME", "of Azure machines (hyperVGeneration): V1 or V2; default: V2", "",
     one_of(kAzureGenerations)},
    {"arch", "NAME", "x86_64, aarch64, ppc64le or s390x", "x86_64"},
    {"o,output", "FORMAT", "text, json, reference or legacy", "text", one_of(kStreamGetFormats)}};
constexpr auto kStreamShowOptions = join_options(kStreamSourceOptions, kStreamShowOwnOptions, kImageOptions);
constexpr auto kStreamGetOptions = join_options(kStreamSourceOptions, kStreamGetOwnOptions, kImageOptions);

stream::StreamQuery query_of(const Invocation& invocation) {
  return {stream::rpm_architecture(invocation.value("arch")), stream::stream_platform(invocation.value("platform")),
          invocation.value("region"), invocation.value("format")};
}

Result<stream::StreamSet> read_stream_file(const std::string& file, stream::ImportOptions options) {
  STRAKE_TRY(const std::string text, read_text_input(file, stream::kMaxStreamBytes));
  if (file != kStandardInputPath) {
    // The files of a build lie beside its meta.json.
    options.base_url = fmt::format("file://{}/", std::filesystem::absolute(file).parent_path().string());
  }
  return stream::read_streams(text, options).context("{}", shown_path(file));
}

Result<stream::StreamSet> read_stream_of_release(const Invocation& invocation) {
  Invocation of_release = invocation;
  of_release.forget("arch");  // it chooses the boot image; the release says the same for all architectures
  STRAKE_TRY(release::ReleasePayload payload, read_release(of_release, invocation.value("release")));
  if (payload.boot_images) return std::move(payload.boot_images->set);
  return error(Code::kNotFound,
               "release {} carries no boot image metadata (manifest coreos-bootimages); use -f or --mirror",
               payload.version)
      .with_verdict(Verdict::kAbsent);
}

net::CallOptions mirror_call(const Invocation& invocation) {
  net::CallOptions call;
  call.timeout = invocation.duration("timeout");
  call.stop = invocation.stop;
  return call;
}

Result<release::UrlReader> mirror_reader(const Invocation& invocation) {
  net::ClientOptions options;
  options.ca_file = invocation.value("certificate-authority");
  options.also_trust_system_roots = true;
  return release::UrlReader::create(std::move(options));
}

Result<stream::StreamSet> read_stream_mirror(const Invocation& invocation, const stream::ImportOptions& options) {
  STRAKE_TRY(const release::UrlReader reader, mirror_reader(invocation));
  const release::StreamMirror mirror(reader, invocation.value("mirror"), mirror_call(invocation));
  const std::string arch = stream::rpm_architecture(invocation.value("arch"));
  const std::string& version = invocation.value("mirror-version");
  const std::string wanted = version.empty() && !mirror.names_one_version() ? "latest" : version;
  return blocked_when_absent(mirror.read(wanted, arch.empty() ? "x86_64" : arch, options));
}

bool is_given(const Invocation& invocation, std::string_view option) { return !invocation.value(option).empty(); }

Status require_one_source(const Invocation& invocation) {
  if (is_given(invocation, "filename") + is_given(invocation, "release") + is_given(invocation, "mirror") > 1) {
    return error(Code::kInvalidArgument, "-f, --release and --mirror are different sources: give one of them");
  }
  return {};
}

/// From the one source that was named, else from the cluster.
Result<stream::Stream> read_stream(const Invocation& invocation) {
  const auto given = [&](std::string_view option) { return is_given(invocation, option); };
  stream::ImportOptions options;
  if (given("marketplace")) {
    if (!given("filename") && !given("mirror")) {
      return error(Code::kInvalidArgument,
                   "--marketplace goes with -f or --mirror; releases and clusters carry theirs");
    }
    STRAKE_TRY(options.marketplace, read_text_input(invocation.value("marketplace"), stream::kMaxStreamBytes));
  }
  const auto read_set = [&]() -> Result<stream::StreamSet> {
    if (given("filename")) return read_stream_file(invocation.value("filename"), options);
    if (given("release")) return read_stream_of_release(invocation);
    if (given("mirror")) return read_stream_mirror(invocation, options);
    runtime::ThreadRuntime runtime;
    STRAKE_TRY(const auto api, connect(runtime, invocation));
    return bootimage::read_cluster_streams(*api, cluster_call(runtime, invocation));
  };
  STRAKE_TRY(const stream::StreamSet streams, read_set());
  STRAKE_TRY(const stream::Stream* stream, blocked_when_absent(streams.find(invocation.value("stream"))));
  return *stream;
}

/// What a mirror has, when no version of it was asked for.
Result<int> show_mirror_index(const Invocation& invocation, const release::StreamMirror& mirror, bool as_json) {
  STRAKE_TRY(const std::vector<std::string> architectures, mirror.architectures());
  const std::string asked = stream::rpm_architecture(invocation.value("arch"));
  const std::vector<std::string> shown = !asked.empty() || architectures.empty()
                                             ? std::vector<std::string>{asked.empty() ? "x86_64" : asked}
                                             : architectures;
  json::Object index;
  for (const std::string& arch : shown) {
    STRAKE_TRY(const std::vector<std::string> versions, blocked_when_absent(mirror.versions(arch)));
    if (!as_json) invocation.out().text(fmt::format("{}: {}\n", arch, fmt::join(versions, " ")));
    index[arch] = json::Array(versions.begin(), versions.end());
  }
  if (as_json) {
    invocation.out().document(
        json::write_pretty(result_document("StreamMirrorIndex", kResultOk, {{"versions", std::move(index)}})));
  }
  return kExitOk;
}

Result<int> show_stream(const Invocation& invocation, bool as_json) {
  STRAKE_CHECK_OK(require_one_source(invocation));
  if (!invocation.value("mirror").empty() && invocation.value("mirror-version").empty()) {
    STRAKE_TRY(const release::UrlReader reader, mirror_reader(invocation));
    const release::StreamMirror mirror(reader, invocation.value("mirror"), mirror_call(invocation));
    if (!mirror.names_one_version()) return show_mirror_index(invocation, mirror, as_json);
  }
  STRAKE_TRY(const stream::Stream stream, read_stream(invocation));
  STRAKE_TRY(const stream::Stream narrowed, blocked_when_absent(stream::narrow_stream(stream, query_of(invocation))));
  as_json ? invocation.out().document(json::write_pretty(narrowed.document))
          : invocation.out().text(stream::describe_stream(narrowed));
  return kExitOk;
}

/// What is found is printed in the form the stream has it; only a failure is a document of ours.
Result<int> run_stream_show(const Invocation& invocation) {
  const bool as_json = wants_json(invocation);
  return run_with_result(invocation, "StreamMetadata", as_json, [&] { return show_stream(invocation, as_json); });
}

Result<int> get_from_stream(const Invocation& invocation, StreamGetFormat format) {
  stream::StreamQuery query = query_of(invocation);
  if (invocation.has("generation")) {
    if (query.platform != "azure") return error(Code::kInvalidArgument, "--generation goes with --platform azure");
    query.generation = invocation.choice<stream::AzureGeneration>("generation");
  }
  if (query.platform.empty()) {
    return error(Code::kInvalidArgument, "--platform is missing; `strake stream show` lists the platforms");
  }
  if (format == StreamGetFormat::kLegacy && query.platform != "aws") {
    return error(Code::kInvalidArgument, "-o legacy is the form rhcos.json had for AMIs: it goes with --platform aws");
  }
  STRAKE_CHECK_OK(require_one_source(invocation));
  STRAKE_TRY(const stream::Stream stream, read_stream(invocation));
  if (format == StreamGetFormat::kLegacy) {
    STRAKE_TRY(const stream::Stream narrowed, blocked_when_absent(stream::narrow_stream(stream, query)));
    STRAKE_TRY(const json::Value amis, blocked_when_absent(stream::legacy_amis(narrowed, query.arch)));
    invocation.out().document(json::write_pretty(amis));
    return kExitOk;
  }
  STRAKE_TRY(const stream::StreamAnswer answer, blocked_when_absent(stream::ask_stream(stream, query)));
  if (format == StreamGetFormat::kJson) {
    invocation.out().document(json::write_pretty(answer.value));
  } else if (format == StreamGetFormat::kText) {
    invocation.out().text(answer.text);
  } else {
    STRAKE_TRY(const std::string reference, blocked_when_absent(answer.reference()));
    invocation.out().text(reference + "\n");
  }
  return kExitOk;
}

Result<int> run_stream_get(const Invocation& invocation) {
  const auto format = invocation.choice<StreamGetFormat>("output");
  return run_with_result(invocation, "StreamAnswer", format == StreamGetFormat::kJson,
                         [&] { return get_from_stream(invocation, format); });
}

constexpr ExitMeaning kStreamExits[] = {
    {kExitOk, "printed"},
    {kExitBlocked,
     "the platform, architecture, region, format, stream or version is absent; the message names what exists"},
    kServerOrRegistryUnreachable,
    kImageNotGenuine};

}  // namespace

const CommandSpec kStreamShowCommand{
    "stream show",
    "Show boot image metadata: architectures, platforms, releases, formats, cloud images.",
    "Reads one source, by default the cluster's ConfigMap coreos-bootimages. -o json prints the stream itself, members "
    "unknown to this program included; with options that narrow it down the rest is left out and the paths stay:\n\n"
    "  strake stream show -f coreos-rhel-9.json\n"
    "  strake stream show --release ./release --arch x86_64 -o json | jq .architectures.x86_64\n"
    "  strake stream show --mirror https://mirror.example.com/pub/openshift-v4   which versions there are\n"
    "  strake stream show --mirror https://mirror.example.com/pub/openshift-v4 --mirror-version 4.16.3",
    {},
    kStreamShowOptions,
    run_stream_show,
    kStreamExits};

const CommandSpec kStreamGetCommand{
    "stream get",
    "Print the boot image for a platform, architecture and region.",
    "With --format the file of that format, with --region the cloud image there; with neither the platform's cloud "
    "images, or its files where it has none. -o json prints what stands in the stream at that place; -o reference one "
    "line: an AMI id, projects/P/global/images/N, a marketplace URN (of the generation asked for), bucket/object or "
    "the URL of a file; -o legacy the "
    "AMIs as rhcos.json had them.\n\n"
    "  strake stream get --platform vmware --arch x86_64 -o json      release, location, sha256\n"
    "  ami=$(strake stream get -f stream.json --platform aws --region eu-west-1 -o reference)",
    {},
    kStreamGetOptions,
    run_stream_get,
    kStreamExits};

}  // namespace strake::cmd
