#include <cstdio>

#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/input/release_input.h"
#include "cmd/version.h"
#include "release/publish.h"

namespace strake::cmd {

namespace {

using namespace std::chrono_literals;

constexpr ArgumentSpec kAppliedRelease[] = {{"REF", kReleaseArgumentHelp}};
constexpr OptionSpec kReleaseApplyOwnOptions[] = {kKubeconfigOption, kContextOption, kImageArchOption};
constexpr auto kReleaseApplyOptions = join_options(kReleaseApplyOwnOptions, kImageOptions);

Result<int> run_release_apply(const Invocation& invocation) {
  runtime::ThreadRuntime runtime;
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  STRAKE_TRY(const release::ReleasePayload payload,
             read_release(invocation, invocation.value("REF"), release::OsImageCheck::kLayers));
  STRAKE_TRY_CONTEXT(const auto steps,
                     release::publish(*api, payload, {std::string(kVersion), runtime.wall_now()},
                                      runtime.call_within(2min, invocation.stop)),
                     "publishing release {}", payload.version);
  std::printf("release %s applied: %zu objects written\n", payload.version.c_str(), steps.size());
  return kExitOk;
}

}  // namespace

const CommandSpec kReleaseApplyCommand{
    "release apply",
    "Publish a release to the cluster: OS image, base MachineConfigs, boot image data.",
    "Every layer of the release and of the OS images that lie beside it is hashed to its end before anything of it is "
    "used; a wrong byte\n"
    "stops the command and nothing is written. Repeating it is safe: what is already there is left alone. Pools are "
    "rendered and nodes\n"
    "follow by themselves; `strake plan` shows what will happen to each node. `strake release verify` checks "
    "signatures too.\n\n"
    "  strake release apply ./release\n"
    "  strake release apply registry.example.com/ocp/release@sha256:...\n\n"
    "Exit codes: 0 applied, 1 error.",
    kAppliedRelease,
    kReleaseApplyOptions,
    run_release_apply};

}  // namespace strake::cmd
