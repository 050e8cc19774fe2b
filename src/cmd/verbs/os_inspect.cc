#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/input/os_images.h"
#include "cmd/input/text_input.h"
#include "cmd/output/format.h"
#include "cmd/output/result_document.h"
#include "osimage/inspection.h"

namespace strake::cmd {

namespace {

constexpr ArgumentSpec kOsInspectArguments[] = {kOsImageArgument};
constexpr OptionSpec kOsInspectOwnOptions[] = {{"packages", "", "list every package, not only their number"},
                                               kOutputOption};
constexpr std::string_view kOsInspectionKind = "OsInspection";
constexpr auto kOsInspectOptions = join_options(kOsInspectOwnOptions, kOsOptions, kImageOptions);

Result<int> show_os_inspection(const Invocation& invocation, bool as_json) {
  STRAKE_TRY(const auto access, ImageAccess::create(invocation));
  STRAKE_TRY(const auto image, open_os_image(*access, invocation, invocation.value("IMAGE")));
  STRAKE_TRY(const osimage::Inspection inspection, osimage::inspect(*image, access->call()));
  as_json
      ? invocation.out().document(json::write_pretty(
            result_document(kOsInspectionKind, kResultOk, osimage::inspection_json(image->facts(), inspection))))
      : invocation.out().text(osimage::describe_inspection(image->facts(), inspection, invocation.is_set("packages")));
  return kExitOk;
}

Result<int> run_os_inspect(const Invocation& invocation) {
  const bool as_json = wants_json(invocation);
  return run_with_result(invocation, kOsInspectionKind, as_json,
                         [&] { return show_os_inspection(invocation, as_json); });
}

constexpr ExitMeaning kOsInspectExits[] = {{kExitOk, "shown"}, kImageAbsent, kRegistryUnreachable, kImageNotGenuine};

}  // namespace

const CommandSpec kOsInspectCommand{
    "os inspect",
    "Show what an OS image is: version, ostree commit, kernel, kernel arguments, packages, labels.",
    "Packages are read from rpm's SQLite database and from dpkg's; the older databases of rpm are named as "
    "unsupported. -o json lists them all. Layers built on an ostree-native image are merged as the ostree importer "
    "does it; what it would drop is shown.\n\n"
    "  strake os inspect quay.io/org/os:4.20\n"
    "  strake os inspect ./layout -o json | jq -r '.packageDatabases[].packages[].name'",
    kOsInspectArguments,
    kOsInspectOptions,
    run_os_inspect,
    kOsInspectExits};

}  // namespace strake::cmd
