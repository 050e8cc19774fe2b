#include "cmd/cli/commands.h"
#include "cmd/input/os_images.h"
#include "oci/spool.h"

namespace strake::cmd {

namespace {

constexpr ArgumentSpec kOsCatArguments[] = {kOsImageArgument, {"PATH", "a file; links lead inside the image"}};
constexpr auto kOsCatOptions = join_options(kOsOptions, kImageOptions);

Result<int> run_os_cat(const Invocation& invocation) {
  STRAKE_TRY(const auto access, ImageAccess::create(invocation));
  STRAKE_TRY(const auto image, open_os_image(*access, invocation, invocation.value("IMAGE")));
  STRAKE_TRY(const osimage::OsImage::Found found,
             blocked_when_absent(
                 image->resolve(invocation.value("PATH"), osimage::OsImage::LastLink::kFollow, access->call())));
  // Not one byte is shown before the layer it comes from, or the object it is, was checked.
  std::optional<oci::Spool> content;
  const auto open = [&](const std::vector<std::string>&) -> Result<codec::Sink*> { return &content.emplace(); };
  STRAKE_CHECK_OK(image->copy_files({found.path}, open, access->call()));
  STRAKE_CHECK_OK(content->copy_to(invocation.out().file_sink()));
  return kExitOk;
}

constexpr ExitMeaning kOsCatExits[] = {{kExitOk, "printed"}, kPathAbsent, kRegistryUnreachable, kImageNotGenuine};

}  // namespace

const CommandSpec kOsCatCommand{"os cat",
                                "Print a file of an OS image.",
                                "Nothing is printed before it was checked: the layer that holds the file is hashed to "
                                "its end, the checksum of an ostree object computed.\n\n"
                                "  strake os cat quay.io/org/os:4.20 /etc/os-release\n"
                                "  strake os cat oci:./layout /usr/lib/modules/6.12.0/vmlinuz > vmlinuz",
                                kOsCatArguments,
                                kOsCatOptions,
                                run_os_cat,
                                kOsCatExits};

}  // namespace strake::cmd
