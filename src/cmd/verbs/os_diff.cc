#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/input/os_images.h"
#include "cmd/input/text_io.h"
#include "osimage/difference.h"

namespace strake::cmd {

namespace {

constexpr ArgumentSpec kOsDiffArguments[] = {{"BEFORE", kOsImageArgumentHelp}, {"AFTER", "the same for the other"}};
constexpr OptionSpec kOsDiffOwnOptions[] = {{"only", "KIND", "files or packages; default: both"}, kOutputOption};
constexpr auto kOsDiffOptions = join_options(kOsDiffOwnOptions, kOsOptions, kImageOptions);

Result<int> run_os_diff(const Invocation& invocation) {
  STRAKE_TRY(const bool as_json, wants_json(invocation));
  const std::string& only = invocation.value("only");
  if (!only.empty() && only != "files" && only != "packages") {
    return error(Code::kInvalidArgument, "--only '{}': expected files or packages", only);
  }
  STRAKE_TRY(const auto access, ImageAccess::create(invocation));
  STRAKE_TRY(const auto before, open_os_image(*access, invocation, invocation.value("BEFORE")));
  STRAKE_TRY(const auto after, open_os_image(*access, invocation, invocation.value("AFTER")));
  const osimage::CompareOptions options{.files = only != "packages", .packages = only != "files"};
  STRAKE_TRY(const osimage::Difference difference, osimage::compare_images(*before, *after, options, access->call()));
  print(as_json ? json::write_pretty(osimage::difference_json(difference)) : osimage::describe_difference(difference));
  return difference.any() ? kExitDiffers : kExitOk;
}

}  // namespace

const CommandSpec kOsDiffCommand{
    "os diff",
    "Show what differs between two OS images, by package and by file.",
    "The images may be of different forms: /usr/etc of an ostree commit is compared with /etc of a plain image. "
    "Content is compared by\n"
    "checksum, and read only where no checksum decides. Times are not compared.\n\n"
    "  strake os diff quay.io/org/os:4.19 quay.io/org/os:4.20 --only packages\n"
    "  strake os diff ostree:/srv/repo:old ostree:/srv/repo:new\n\n"
    "Exit codes: 0 nothing differs, 2 something does (or cannot be compared: it says what), 1 error.",
    kOsDiffArguments,
    kOsDiffOptions,
    run_os_diff};

}  // namespace strake::cmd
