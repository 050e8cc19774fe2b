
#include "api/kinds.h"
#include "bootimage/boot_image_data.h"
#include "bootimage/report.h"
#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/output/format.h"

namespace strake::cmd {

namespace {

constexpr OptionSpec kCheckOptions[] = {kOutputOption, kKubeconfigOption, kContextOption, kTimeoutOption};

Result<int> run_bootimage_check(const Invocation& invocation) {
  const bool as_json = wants_json(invocation);
  runtime::ThreadRuntime runtime;
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  const kube::Call call = cluster_call(runtime, invocation);
  STRAKE_TRY(const stream::Stream stream, bootimage::read_cluster_stream(*api, call));
  bootimage::CheckPolicy policy;
  const auto configuration =
      api->get(api::kMachineConfiguration, {"", std::string(api::kMachineConfigurationName)}, call);
  if (configuration.ok()) {
    STRAKE_TRY(policy, bootimage::policy_of_machine_configuration(*configuration));
  } else if (configuration.error().code() != Code::kNotFound) {
    return configuration.error();
  }
  STRAKE_TRY_CONTEXT(const kube::ListPage sets, api->list(api::kMachineSet, "", {}, call), "listing machine sets");
  STRAKE_TRY_CONTEXT(const kube::ListPage control_plane, api->list(api::kControlPlaneMachineSet, "", {}, call),
                     "listing control plane machine sets");
  const bootimage::BootImageReport report = bootimage::check_all(sets.items, control_plane.items, stream, policy);
  as_json ? invocation.out().document(json::write_pretty(bootimage::render_json(report)))
          : invocation.out().text(bootimage::render_text(report));
  return report.exit_code();
}

constexpr ExitMeaning kBootimageCheckExits[] = {
    {kExitOk, "everything is current or skipped"},
    {kExitDiffers, "something is behind"},
    {kExitBlocked, "the cluster has no boot image data, or the release none for the region or architecture of a set"},
    kServerUnreachable};

}  // namespace

const CommandSpec kBootimageCheckCommand{
    "bootimage check",
    "Compare the boot images of AWS machine sets with those of the release.",
    "Reads machine sets and the release's boot image data from the cluster; changes nothing. A set that is behind is "
    "shown with the patch that brings it up (-o json); a set that is skipped says why.\n\n"
    "  strake bootimage check -o json",
    {},
    kCheckOptions,
    run_bootimage_check,
    kBootimageCheckExits};

}  // namespace strake::cmd
