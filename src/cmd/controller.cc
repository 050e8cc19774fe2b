#include <unistd.h>

#include <cstdio>

#include "api/kinds.h"
#include "cmd/commands.h"
#include "cmd/connection.h"
#include "cmd/version.h"
#include "machineconfig/render_controller.h"
#include "rollout/rollout_controller.h"

namespace strake::cmd {

namespace {

constexpr OptionSpec kControllerOptions[] = {kKubeconfigOption, kContextOption};

Result<int> run_controller(const Invocation& invocation) {
  runtime::ThreadRuntime runtime;
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  machineconfig::RenderController render(runtime, *api, std::string(kVersion));
  rollout::RolloutController rollout(runtime, *api);
  render.start();
  rollout.start();
  std::fprintf(stderr, "strake: controllers running (render, rollout)\n");
  (void)runtime.sleep(std::chrono::hours(24 * 365 * 10), invocation.stop);
  rollout.stop();
  render.stop();
  return kExitOk;
}

}  // namespace

const CommandSpec kControllerCommand{"controller",
                                     "Run the render and rollout controllers against a cluster.",
                                     "Renders MachineConfigs for every pool and moves nodes to them within "
                                     "maxUnavailable. `strake up` runs the same controllers\n"
                                     "inside its own process.\n\n"
                                     "Exit codes: 0 stopped by a signal, 1 error.",
                                     {},
                                     kControllerOptions,
                                     run_controller};

}  // namespace strake::cmd
