
#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/input/release_input.h"
#include "cmd/version.h"
#include "release/publish.h"

namespace strake::cmd {

namespace {

constexpr ArgumentSpec kAppliedRelease[] = {{"REF", kReleaseArgumentHelp}};
constexpr OptionSpec kReleaseApplyOwnOptions[] = {kKubeconfigOption, kContextOption, kTimeoutOption, kImageArchOption};
constexpr auto kReleaseApplyOptions = join_options(kReleaseApplyOwnOptions, kImageOptions);

Result<int> run_release_apply(const Invocation& invocation) {
  runtime::ThreadRuntime runtime;
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  STRAKE_TRY(const release::ReleasePayload payload,
             read_release(invocation, invocation.value("REF"), release::OsImageCheck::kLayers));
  STRAKE_TRY_CONTEXT(
      const auto steps,
      release::publish(*api, payload, {std::string(kVersion), runtime.wall_now()}, cluster_call(runtime, invocation)),
      "publishing release {}", payload.version);
  invocation.out().text(fmt::format("release {} applied: {} objects written\n", payload.version, steps.size()));
  return kExitOk;
}

constexpr ExitMeaning kReleaseApplyExits[] = {
    {kExitOk, "applied"}, kImageAbsent, kServerOrRegistryUnreachable, kImageNotGenuine};

}  // namespace

const CommandSpec kReleaseApplyCommand{
    "release apply",
    "Publish a release to the cluster: OS image, base MachineConfigs, boot image data.",
    "Every layer of the release and of the OS images that lie beside it is hashed to its end before anything of it is "
    "used; a wrong byte stops the command and nothing is written. Repeating it is safe: what is already there is left "
    "alone. Pools are rendered and nodes follow by themselves; `strake plan` shows what will happen to each node. "
    "`strake release verify` checks signatures too.\n\n"
    "  strake release apply ./release\n"
    "  strake release apply registry.example.com/ocp/release@sha256:...",
    kAppliedRelease,
    kReleaseApplyOptions,
    run_release_apply,
    kReleaseApplyExits};

}  // namespace strake::cmd
