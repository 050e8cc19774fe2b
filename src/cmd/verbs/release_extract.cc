#include "base/text.h"
#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/input/os_images.h"
#include "cmd/input/release_input.h"
#include "osimage/extraction.h"
#include "release/program_file.h"

namespace strake::cmd {

namespace {

constexpr ArgumentSpec kExtractedRelease[] = {{"REF", kReleaseArgumentHelp}};
constexpr OptionSpec kReleaseExtractOwnOptions[] = {
    {"to", "DIR", "the folder to write to; made when it is not there", ".", kFolderValue},
    {"path", "LIST",
     "files of the release image, as patterns: names of manifests ('*.yaml'), or paths ('/release-manifests/*')", "",
     kListValue},
    {"file", "NAME", "print this manifest instead"},
    {"command", "NAME", "a program of the release instead: oc, openshift-install, ccoctl, ..."},
    {"command-os", "OS[/ARCH]", "for linux, mac or windows; default: linux on the architecture of the release"},
    {"overwrite", "", "replace files that exist"},
    kImageArchOption};
constexpr auto kReleaseExtractOptions = join_options(kReleaseExtractOwnOptions, kImageOptions);
constexpr std::string_view kManifestsFolder = "/release-manifests";

Result<release::ReleasePayload> read_for_extraction(ImageAccess& access, const release::ReleasePlace& place) {
  const release::PayloadOptions options{access.platform(), release::OsImageCheck::kLabels, access.cache()};
  return release::read_payload(place, options, access.runtime(), access.call());
}

Status print_manifest(const Invocation& invocation, ImageAccess& access, const release::ReleasePlace& place) {
  STRAKE_TRY(const release::ReleasePayload payload, read_for_extraction(access, place));
  const std::string& name = invocation.value("file");
  const auto found = payload.manifests.find(name);
  if (found != payload.manifests.end()) return codec::write(invocation.out().file_sink(), found->second);
  return error(Code::kNotFound, "release {} has no manifest {} (it has: {})", payload.version, name,
               names_in(payload.manifests))
      .with_verdict(Verdict::kAbsent);
}

Status extract_payload(const Invocation& invocation, ImageAccess& access, const release::ReleasePlace& place) {
  STRAKE_TRY(const release::PlacedImage release, place.find_release(access.call()));
  const osimage::OpenOptions options{.cache = access.cache(), .platform = access.platform()};
  STRAKE_TRY_CONTEXT(const auto image,
                     osimage::OsImage::open(*release.source, release.entry.digest.to_string(), options,
                                            access.runtime(), access.call()),
                     "{}", place.description());
  std::vector<std::string> patterns = invocation.list("path");
  if (patterns.empty()) patterns = {std::string(kManifestsFolder)};
  bool keep_paths = false;
  std::vector<osimage::OsImage::Found> all;
  for (const std::string& pattern : patterns) {
    const bool is_name = pattern.find('/') == std::string::npos;
    keep_paths = keep_paths || (!is_name && pattern != kManifestsFolder);
    STRAKE_TRY(const auto found,
               blocked_when_absent(
                   image->match(is_name ? fmt::format("{}/{}", kManifestsFolder, pattern) : pattern, access.call())));
    all.insert(all.end(), found.begin(), found.end());
  }
  STRAKE_TRY(const osimage::Extracted extracted, osimage::extract_files(*image, all, invocation.path("to"),
                                                                        {.overwrite = invocation.is_set("overwrite"),
                                                                         .keep_paths = keep_paths,
                                                                         .overwrite_option = "--overwrite"},
                                                                        access.call()));
  invocation.out().text(fmt::format("{} files in {}\n", extracted.files, invocation.value("to")));
  return {};
}

struct ProgramSystem {
  std::string os = "linux";
  std::string arch;
};

Result<ProgramSystem> wanted_system(const Invocation& invocation, const std::string& release_arch) {
  const std::string& text = invocation.value("command-os");
  ProgramSystem system{.arch = release_arch};
  if (text.empty()) return system;
  std::string_view rest = text;
  system.os = take_until(rest, '/');
  if (!rest.empty()) {
    system.arch = go_architecture(rest);
  } else if (system.os != "linux") {
    system.arch = "amd64";
  }
  if (system.os.empty() || rest.find('/') != std::string_view::npos) {
    return error(Code::kInvalidArgument, "--command-os {}: expected OS or OS/ARCH, as mac/arm64", text);
  }
  return system;
}

/// Of the release image itself: its name need not say it.
Result<std::string> release_image_arch(ImageAccess& access, const release::PlacedImage& release) {
  STRAKE_TRY(const oci::Descriptor descriptor,
             release.source->resolve(release.entry.digest.to_string(), access.platform(), access.call()));
  STRAKE_TRY(const oci::Manifest manifest, release.source->read_manifest(descriptor, access.call()));
  STRAKE_TRY(const oci::ImageConfig config, release.source->read_config(manifest, access.call()));
  return config.platform.architecture;
}

Status extract_program(const Invocation& invocation, ImageAccess& access, const release::ReleasePlace& place) {
  STRAKE_TRY(const release::PlacedImage release, place.find_release(access.call()));
  STRAKE_TRY(const std::string arch, release_image_arch(access, release));
  STRAKE_TRY(const ProgramSystem system, wanted_system(invocation, arch));
  STRAKE_TRY(const release::ProgramPlace program,
             blocked_when_absent(release::find_program(invocation.value("command"), system.os, system.arch, arch)));
  release::ProgramFile file(invocation.path("to"), program.file_name, invocation.is_set("overwrite"));
  STRAKE_CHECK_OK(file.check_free());
  STRAKE_TRY(const release::ReleasePayload payload, read_for_extraction(access, place));
  STRAKE_TRY(const release::Component* component, blocked_when_absent(payload.component(program.component)));
  STRAKE_TRY(const auto image, open_component_os(access, place, *component));
  STRAKE_TRY_CONTEXT(
      const osimage::OsImage::Found found,
      blocked_when_absent(image->resolve(program.path, osimage::OsImage::LastLink::kFollow, access.call())),
      "component {}", program.component);
  const bool several = oci::is_index_type(release.entry.media_type);
  const auto open = [&](const std::vector<std::string>&) {
    return file.open(release::stamps_for(payload, program, several ? "multi" : arch));
  };
  STRAKE_CHECK_OK(image->copy_files({found.path}, open, access.call()));
  STRAKE_CHECK_OK(file.finish());
  if (program.needs_signing) {
    invocation.out().warn(fmt::format("macOS runs {} only once it is signed again: codesign -s - {}", program.file_name,
                                      file.target().string()));
  }
  invocation.out().text(
      fmt::format("{}  {} of release {}\n", file.target().string(), program.file_name, payload.version));
  return {};
}

Result<int> run_release_extract(const Invocation& invocation) {
  const int kinds =
      (invocation.has("path") ? 1 : 0) + (invocation.has("file") ? 1 : 0) + (invocation.has("command") ? 1 : 0);
  if (kinds > 1) return error(Code::kInvalidArgument, "--path, --file and --command exclude each other");
  if (invocation.has("command-os") && !invocation.has("command")) {
    return error(Code::kInvalidArgument, "--command-os goes with --command");
  }
  STRAKE_TRY(const std::unique_ptr<ImageAccess> access, ImageAccess::create(invocation));
  STRAKE_TRY(const auto place, open_release(*access, invocation.value("REF")));
  if (invocation.has("file")) {
    STRAKE_CHECK_OK(print_manifest(invocation, *access, *place));
  } else if (invocation.has("command")) {
    STRAKE_CHECK_OK(extract_program(invocation, *access, *place));
  } else {
    STRAKE_CHECK_OK(extract_payload(invocation, *access, *place));
  }
  return kExitOk;
}

constexpr ExitMeaning kReleaseExtractExits[] = {
    {kExitOk, "written, or printed"},
    {kExitBlocked, "there is no such file, component or program; the message names those there are"},
    kRegistryUnreachable,
    kImageNotGenuine};

}  // namespace

const CommandSpec kReleaseExtractCommand{
    "release extract",
    "Write the manifests of a release, some of its files, or one of its programs to a folder.",
    "Without more all manifests go into the folder, as they stand in the release image. --path chooses: a pattern "
    "without a slash is one for names of manifests, another one for paths of the release image, which are kept below "
    "the folder. --command brings a program out of the component that carries it, with version, release image and "
    "architecture written into it as `oc adm release extract` does. All content is checked before a file gets its "
    "name; nothing outside the folder is touched, and nothing that exists is replaced without --overwrite.\n\n"
    "  strake release extract quay.io/org/release:4.21.0-x86_64 --to manifests\n"
    "  strake release extract ./release.tar --file 0000_50_installer_coreos-bootimages.yaml\n"
    "  strake release extract ./release.tar --path '0000_90_*,*.crd.yaml' --to crds\n"
    "  strake release extract ./release.tar --command openshift-install --to bin\n"
    "  strake release extract ./release.tar --command oc --command-os mac/arm64",
    kExtractedRelease,
    kReleaseExtractOptions,
    run_release_extract,
    kReleaseExtractExits};

}  // namespace strake::cmd
