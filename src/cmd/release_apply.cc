#include <cstdio>

#include "cmd/commands.h"
#include "cmd/connection.h"
#include "cmd/sample_job.h"
#include "cmd/version.h"

namespace strake::cmd {

namespace {

using namespace std::chrono_literals;

constexpr ArgumentSpec kReleaseArguments[] = {
    {"OCIDIR", "OCI image layout that holds the release image and the OS image"}};
constexpr OptionSpec kReleaseOptions[] = {
    {"reference", "NAME",
     "the release image's name in the layout's index.json; needed when the layout holds several images", "release"},
    kKubeconfigOption,
    kContextOption};

Result<int> run_release_apply(const Invocation& invocation) {
  runtime::ThreadRuntime runtime;
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  STRAKE_TRY(const AppliedRelease applied,
             apply_release(runtime, *api, invocation.value("OCIDIR"), invocation.value("reference"),
                           std::string(kVersion), runtime.call_within(2min, invocation.stop)));
  std::printf("release %s applied: %zu objects written\n", applied.version.c_str(), applied.steps);
  return kExitOk;
}

}  // namespace

const CommandSpec kReleaseApplyCommand{
    "release apply",
    "Publish a release to the cluster: OS image, base MachineConfigs, boot image data.",
    "Every layer of the release and of its OS image is hashed to its end before anything of it is used; a wrong byte "
    "stops the command and\n"
    "nothing is written. Repeating it is safe: what is already there is left alone. Pools are rendered and nodes "
    "follow by themselves;\n"
    "`strake plan` shows what will happen to each node.\n\n"
    "Exit codes: 0 applied, 1 error.",
    kReleaseArguments,
    kReleaseOptions,
    run_release_apply};

}  // namespace strake::cmd
