#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/input/release_input.h"
#include "cmd/input/text_input.h"
#include "cmd/output/format.h"
#include "cmd/output/result_document.h"
#include "release/payload_report.h"

namespace strake::cmd {

namespace {

constexpr ArgumentSpec kShownRelease[] = {{"REF", kReleaseArgumentHelp}};
constexpr OptionSpec kReleaseInfoOwnOptions[] = {kOutputOption, kReleaseArchOption};
constexpr OptionSpec kReleaseImagesOwnOptions[] = {
    {"image-for", "NAME", "only the pull spec of this component"}, kOutputOption, kReleaseArchOption};
constexpr auto kReleaseInfoOptions = join_options(kReleaseInfoOwnOptions, kImageOptions);
constexpr auto kReleaseImagesOptions = join_options(kReleaseImagesOwnOptions, kImageOptions);

constexpr std::string_view kReleaseInfoKind = "ReleaseInfo";
constexpr std::string_view kReleaseImagesKind = "ReleaseImages";

/// The release as each architecture asked for sees it.
struct SeenRelease {
  std::string arch;
  release::ReleasePayload payload;
};

Result<std::vector<SeenRelease>> read_seen_releases(const Invocation& invocation) {
  STRAKE_TRY(const std::unique_ptr<ImageAccess> access, create_release_access(invocation));
  STRAKE_TRY(const auto place, open_release(*access, invocation.value("REF")));
  STRAKE_TRY(const std::vector<oci::Platform> platforms, release_platforms_asked_for(invocation, *access, *place));
  std::vector<SeenRelease> all;
  for (const oci::Platform& platform : platforms) {
    STRAKE_TRY(release::ReleasePayload payload, read_release_for(*access, *place, platform));
    all.push_back({platform.architecture, std::move(payload)});
  }
  return all;
}

/// One as ever; of all architectures each with its name.
void print_releases(const Invocation& invocation, std::string_view kind, const std::vector<SeenRelease>& all,
                    std::string (*text_of)(const release::ReleasePayload&),
                    json::Value (*json_of)(const release::ReleasePayload&)) {
  const bool several = asks_for_every_arch(invocation);
  json::Object body;
  for (const auto& [arch, payload] : all) {
    if (several) body[arch] = json_of(payload);
    if (wants_json(invocation)) continue;
    invocation.out().text(several ? fmt::format("{}:\n{}\n", arch, text_of(payload)) : text_of(payload));
  }
  if (!wants_json(invocation)) return;
  if (several) {
    body = json::Object{{"architectures", std::move(body)}};
  } else {
    body = std::move(json_of(all.front().payload).get_object());
  }
  invocation.out().document(json::write_pretty(result_document(kind, kResultOk, std::move(body))));
}

Result<int> run_release_info(const Invocation& invocation) {
  return run_with_result(invocation, kReleaseInfoKind, wants_json(invocation), [&]() -> Result<int> {
    STRAKE_TRY(const std::vector<SeenRelease> all, read_seen_releases(invocation));
    print_releases(invocation, kReleaseInfoKind, all, release::describe_release, release::release_json);
    return kExitOk;
  });
}

Result<int> run_release_images(const Invocation& invocation) {
  return run_with_result(invocation, kReleaseImagesKind, wants_json(invocation), [&]() -> Result<int> {
    STRAKE_TRY(const std::vector<SeenRelease> all, read_seen_releases(invocation));
    const std::string& wanted = invocation.value("image-for");
    if (wanted.empty()) {
      print_releases(invocation, kReleaseImagesKind, all, release::describe_components, release::components_json);
      return kExitOk;
    }
    for (const auto& [arch, payload] : all) {
      STRAKE_TRY(const release::Component* component, blocked_when_absent(payload.component(wanted)));
      invocation.out().text(component->pull_spec + "\n");
    }
    return kExitOk;
  });
}

constexpr ExitMeaning kReleaseInfoExits[] = {{kExitOk, "shown"}, kImageAbsent, kRegistryUnreachable, kImageNotGenuine};
constexpr ExitMeaning kReleaseImagesExits[] = {
    {kExitOk, "listed"},
    {kExitBlocked, "there is no such release or component; the message names what there is"},
    kRegistryUnreachable,
    kImageNotGenuine};

}  // namespace

const CommandSpec kReleaseInfoCommand{
    "release info",
    "Show a release: version, digest, OS images, boot images.",
    "Every layer of the release image, and of its OS images that lie in the same layout, is hashed to its end first. "
    "-o json has the members of `oc adm release info -o json` (image, digest, metadata, references, displayVersions) "
    "and defaultStream, osStreams and bootImages. With --arch all each architecture's, under `architectures`.\n\n"
    "  strake release info ./release -o json | jq -r .metadata.version",
    kShownRelease,
    kReleaseInfoOptions,
    run_release_info,
    kReleaseInfoExits};

const CommandSpec kReleaseImagesCommand{
    "release images",
    "List the component images of a release, by digest.",
    "Each with the digest the release names: what a cluster of this release pulls. --image-for prints one pull spec "
    "and nothing else, for scripts.\n\n"
    "  strake release images ./release --image-for rhel-coreos",
    kShownRelease,
    kReleaseImagesOptions,
    run_release_images,
    kReleaseImagesExits};

}  // namespace strake::cmd
