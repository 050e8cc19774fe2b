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
constexpr OptionSpec kReleaseInfoOwnOptions[] = {kOutputOption, kImageArchOption};
constexpr OptionSpec kReleaseImagesOwnOptions[] = {
    {"image-for", "NAME", "only the pull spec of this component"}, kOutputOption, kImageArchOption};
constexpr auto kReleaseInfoOptions = join_options(kReleaseInfoOwnOptions, kImageOptions);
constexpr auto kReleaseImagesOptions = join_options(kReleaseImagesOwnOptions, kImageOptions);

constexpr std::string_view kReleaseInfoKind = "ReleaseInfo";
constexpr std::string_view kReleaseImagesKind = "ReleaseImages";

void print_result(const Invocation& invocation, std::string_view kind, json::Value body) {
  invocation.out().document(json::write_pretty(result_document(kind, kResultOk, std::move(body.get_object()))));
}

Result<int> run_release_info(const Invocation& invocation) {
  const bool as_json = wants_json(invocation);
  return run_with_result(invocation, kReleaseInfoKind, as_json, [&]() -> Result<int> {
    STRAKE_TRY(const release::ReleasePayload payload, read_release(invocation, invocation.value("REF")));
    as_json ? print_result(invocation, kReleaseInfoKind, release::release_json(payload))
            : invocation.out().text(release::describe_release(payload));
    return kExitOk;
  });
}

Result<int> run_release_images(const Invocation& invocation) {
  const bool as_json = wants_json(invocation);
  return run_with_result(invocation, kReleaseImagesKind, as_json, [&]() -> Result<int> {
    STRAKE_TRY(const release::ReleasePayload payload, read_release(invocation, invocation.value("REF")));
    const std::string& wanted = invocation.value("image-for");
    if (wanted.empty()) {
      as_json ? print_result(invocation, kReleaseImagesKind, release::components_json(payload))
              : invocation.out().text(release::describe_components(payload));
      return kExitOk;
    }
    STRAKE_TRY(const release::Component* component, blocked_when_absent(payload.component(wanted)));
    invocation.out().text(component->pull_spec + "\n");
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
    "and defaultStream, osStreams and bootImages.\n\n"
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
