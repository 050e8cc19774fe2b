#include "cmd/cli/commands.h"
#include "cmd/input/os_images.h"
#include "cmd/input/text_input.h"
#include "osimage/extraction.h"
#include "osimage/path_pattern.h"

namespace strake::cmd {

namespace {

constexpr ArgumentSpec kOsExtractArguments[] = {
    kOsImageArgument,
    {"PATH", "files, links or folders; / is everything. Patterns too, quoted: *, ?, [a-z], ** for folders", true, true},
    {"DIR", "the folder to write to; made when it is not there", true, false, kFolderValue}};
constexpr OptionSpec kOsExtractOwnOptions[] = {{"force", "", "replace files and links that exist"}};
constexpr auto kOsExtractOptions = join_options(kOsExtractOwnOptions, kOsOptions, kImageOptions);

Result<int> run_os_extract(const Invocation& invocation) {
  STRAKE_TRY(const auto access, ImageAccess::create(invocation));
  STRAKE_TRY(const auto image, open_os_image(*access, invocation, invocation.value("IMAGE")));
  const std::vector<std::string>& paths = invocation.list("PATH");
  std::vector<osimage::OsImage::Found> all;
  for (const std::string& path : paths) {
    STRAKE_TRY(std::vector<osimage::OsImage::Found> found, blocked_when_absent(image->match(path, access->call())));
    all.insert(all.end(), found.begin(), found.end());
  }
  // One path that was written out is all there is in DIR; what was chosen from several places keeps its place.
  const bool one_path = paths.size() == 1 && !osimage::looks_like_pattern(paths.front());
  const osimage::ExtractOptions options{.overwrite = invocation.is_set("force"), .keep_paths = !one_path};
  STRAKE_TRY(const osimage::Extracted extracted,
             osimage::extract_files(*image, all, invocation.value("DIR"), options, access->call()));
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
    "Of one PATH, what is in a folder goes into DIR, a file becomes DIR/NAME. Of several, and of patterns, everything "
    "keeps its path: DIR/usr/lib/os-release. Each layer is read once for all of them. Modes are kept but for set-user "
    "and set-group bits; "
    "owners are not. Links are written as links and never followed; nothing outside DIR is touched. All content is "
    "checked before the first file gets its name, and nothing that exists is replaced without --force.\n\n"
    "  strake os extract quay.io/org/os:4.20 /usr/lib/modules ./modules\n"
    "  strake os extract quay.io/org/os:4.20 '/usr/lib/modules/*/vmlinuz' /etc/os-release ./boot",
    kOsExtractArguments,
    kOsExtractOptions,
    run_os_extract,
    kOsExtractExits};

}  // namespace strake::cmd
