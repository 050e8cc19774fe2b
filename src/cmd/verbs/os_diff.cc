#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/input/os_images.h"
#include "cmd/input/text_input.h"
#include "cmd/output/format.h"
#include "cmd/output/result_document.h"
#include "osimage/difference.h"

namespace strake::cmd {

namespace {

constexpr ArgumentSpec kOsDiffArguments[] = {{"BEFORE", kOsImageArgumentHelp}, {"AFTER", "the same for the other"}};
enum class OsDiffKind { kFiles, kPackages };
constexpr std::string_view kOsDiffKinds[] = {"files", "packages"};
constexpr OptionSpec kOsDiffOwnOptions[] = {
    {"only", "KIND", "files or packages; default: both", "", one_of(kOsDiffKinds)}, kOutputOption};
constexpr std::string_view kOsDifferenceKind = "OsDifference";
constexpr auto kOsDiffOptions = join_options(kOsDiffOwnOptions, kOsOptions, kImageOptions);

Result<int> show_os_difference(const Invocation& invocation, bool as_json) {
  STRAKE_TRY(const auto access, ImageAccess::create(invocation));
  STRAKE_TRY(const auto before, open_os_image(*access, invocation, invocation.value("BEFORE")));
  STRAKE_TRY(const auto after, open_os_image(*access, invocation, invocation.value("AFTER")));
  const auto wanted = [&](OsDiffKind kind) {
    return !invocation.has("only") || invocation.choice<OsDiffKind>("only") == kind;
  };
  const osimage::CompareOptions options{.files = wanted(OsDiffKind::kFiles), .packages = wanted(OsDiffKind::kPackages)};
  STRAKE_TRY(const osimage::Difference difference, osimage::compare_images(*before, *after, options, access->call()));
  if (as_json) {
    json::Object body = osimage::difference_json(difference);
    body["differs"] = difference.any();
    invocation.out().document(json::write_pretty(result_document(kOsDifferenceKind, kResultOk, std::move(body))));
  } else {
    invocation.out().text(osimage::describe_difference(difference));
  }
  return difference.any() ? kExitDiffers : kExitOk;
}

Result<int> run_os_diff(const Invocation& invocation) {
  const bool as_json = wants_json(invocation);
  return run_with_result(invocation, kOsDifferenceKind, as_json,
                         [&] { return show_os_difference(invocation, as_json); });
}

constexpr ExitMeaning kOsDiffExits[] = {{kExitOk, "nothing differs"},
                                        {kExitDiffers, "something does, or cannot be compared; it says what"},
                                        kImageAbsent,
                                        kRegistryUnreachable,
                                        kImageNotGenuine};

}  // namespace

const CommandSpec kOsDiffCommand{
    "os diff",
    "Show what differs between two OS images, by package and by file.",
    "The images may be of different forms: /usr/etc of an ostree commit is compared with /etc of a plain image. "
    "Content is compared by checksum, and read only where no checksum decides. Times are not compared.\n\n"
    "  strake os diff quay.io/org/os:4.19 quay.io/org/os:4.20 --only packages\n"
    "  strake os diff ostree:/srv/repo:old ostree:/srv/repo:new",
    kOsDiffArguments,
    kOsDiffOptions,
    run_os_diff,
    kOsDiffExits};

}  // namespace strake::cmd
