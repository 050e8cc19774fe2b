#include <unistd.h>

#include <cstdio>

#include "base/random.h"
#include "cmd/commands.h"
#include "cmd/connection.h"
#include "cmd/controllers.h"

namespace strake::cmd {

namespace {

constexpr OptionSpec kControllerOptions[] = {kKubeconfigOption, kContextOption};

std::string process_identity() {
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0 || host[0] == '\0') std::snprintf(host, sizeof host, "unknown-host");
  return fmt::format("{}_{}", host, SystemRandom().name_suffix(8));
}

Result<int> run_controller(const Invocation& invocation) {
  runtime::ThreadRuntime runtime;
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  ControllersOptions options;
  options.identity = process_identity();
  options.on_leader = [&](const std::string& leader) {
    if (leader == options.identity) {
      std::fprintf(stderr, "strake: leading as %s; controllers running (render, rollout)\n", leader.c_str());
    } else {
      std::fprintf(stderr, "strake: %s leads; waiting to take over\n", leader.c_str());
    }
  };
  STRAKE_CHECK_OK(run_controllers(runtime, *api, options, invocation.stop));
  return kExitOk;
}

}  // namespace

const CommandSpec kControllerCommand{"controller",
                                     "Run the render and rollout controllers against a cluster.",
                                     "Renders MachineConfigs for every pool and moves nodes to them within "
                                     "maxUnavailable. Of several such processes one acts,\n"
                                     "by holding the Lease strake-system/strake-controller; the others wait to take "
                                     "over. `strake up` runs the same controllers inside\n"
                                     "its own process and holds the same lease.\n\n"
                                     "Exit codes: 0 stopped by a signal, 1 error.",
                                     {},
                                     kControllerOptions,
                                     run_controller};

}  // namespace strake::cmd
