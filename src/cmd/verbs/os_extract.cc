#include "cmd/cli/commands.h"
#include "cmd/input/os_images.h"
#include "cmd/input/text_input.h"
#include "osimage/extraction.h"

namespace strake::cmd {

namespace {

constexpr ArgumentSpec kOsExtractArguments[] = {
    kOsImageArgument,
    {"PATH", "a file, a link or a folder; / is everything"},
    {"DIR", "the folder to write to; made when it is not there", true, false, kFolderValue}};
constexpr OptionSpec kOsExtractOwnOptions[] = {{"force", "", "replace files and links that exist"}};
constexpr auto kOsExtractOptions = join_options(kOsExtractOwnOptions, kOsOptions, kImageOptions);

Result<int> run_os_extract(const Invocation& invocation) {
  STRAKE_TRY(const auto access, ImageAccess::create(invocation));
  STRAKE_TRY(const auto image, open_os_image(*access, invocation, invocation.value("IMAGE")));
  STRAKE_TRY(
      const osimage::OsImage::Found found,
      blocked_when_absent(image->resolve(invocation.value("PATH"), osimage::OsImage::LastLink::kKeep, access->call())));
  STRAKE_TRY(const osimage::Extracted extracted,
             osimage::extract_files(*image, found, invocation.value("DIR"), {.overwrite = invocation.is_set("force")},
                                    access->call()));
  for (const std::string& path : extracted.skipped) {
    invocation.out().warn(fmt::format("{} is a device or fifo and was left out", path));
  }
  invocation.out().text(
      fmt::format("{} files, {} folders, {} links\n", extracted.files, extracted.folders, extracted.links));
  return kExitOk;
}

constexpr ExitMeaning kOsExtractExits[] = {{kExitOk, "written"}, kPathAbsent, kRegistryUnreachable, kImageNotGenuine};

}  // namespace

const CommandSpec kOsExtractCommand{
    "os extract",
    "Write files of an OS image to a folder, as an ordinary user.",
    "What is in a folder goes into DIR, a file becomes DIR/NAME. Modes are kept but for set-user and set-group bits; "
    "owners are not. Links are written as links and never followed; nothing outside DIR is touched. All content is "
    "checked before the first file gets its name, and nothing that exists is replaced without --force.\n\n"
    "  strake os extract quay.io/org/os:4.20 /usr/lib/modules ./modules",
    kOsExtractArguments,
    kOsExtractOptions,
    run_os_extract,
    kOsExtractExits};

}  // namespace strake::cmd
