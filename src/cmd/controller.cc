#include <unistd.h>

#include <cstdio>

#include "base/random.h"
#include "cmd/commands.h"
#include "cmd/connection.h"
#include "cmd/version.h"
#include "controlplane/controllers.h"

namespace strake::cmd {

namespace {

constexpr OptionSpec kControllerOptions[] = {kKubeconfigOption, kContextOption};

std::string process_identity() {
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0 || host[0] == '\0') std::snprintf(host, sizeof host, "unknown-host");
  return fmt::format("{}_{}", host, SystemRandom().name_suffix(8));
}

std::string describe(const machineconfig::Agreement& agreement) {
  const std::string theirs = agreement.theirs.empty() ? "no config yet" : agreement.theirs;
  if (agreement.ours.empty()) {
    return fmt::format("pool {} has {}; Strake cannot render it: {}", agreement.pool, theirs, agreement.reason);
  }
  if (agreement.agrees()) return fmt::format("pool {} agrees: {}", agreement.pool, theirs);
  return fmt::format("pool {} DIFFERS: it has {}, Strake renders {}", agreement.pool, theirs, agreement.ours);
}

Result<int> run_controller(const Invocation& invocation) {
  runtime::ThreadRuntime runtime;
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  controlplane::ControllersOptions options;
  options.version = kVersion;
  options.identity = process_identity();
  options.on_leader = [&](const std::string& leader) {
    if (leader == options.identity) {
      std::fprintf(stderr, "strake: leading as %s; controllers running\n", leader.c_str());
    } else {
      std::fprintf(stderr, "strake: %s leads; waiting to take over\n", leader.c_str());
    }
  };
  options.on_modes = [](const controlplane::ClusterModes& modes) {
    std::fprintf(stderr, "strake: render: %s, rollout: %s\n", std::string(api::to_string(modes.render)).c_str(),
                 std::string(api::to_string(modes.rollout)).c_str());
  };
  options.on_agreement = [](const machineconfig::Agreement& agreement) {
    std::fprintf(stderr, "strake: observed: %s\n", describe(agreement).c_str());
  };
  STRAKE_CHECK_OK(controlplane::run_controllers(runtime, *api, options, invocation.stop));
  return kExitOk;
}

}  // namespace

const CommandSpec kControllerCommand{
    "controller",
    "Run the render and rollout controllers against a cluster.",
    "Renders MachineConfigs for every pool and moves nodes to them within maxUnavailable. Of several such processes "
    "one "
    "acts,\n"
    "by holding the Lease strake-system/strake-controller; the others wait to take over. `strake up` runs the same "
    "controllers inside\n"
    "its own process and holds the same lease.\n\n"
    "Beside a Machine Config Operator (its ClusterOperator exists or it holds a lease) both capabilities only observe: "
    "nothing is\n"
    "written, and each pool gets a line saying whether Strake's render agrees with the operator's. spec.modes of "
    "StrakeConfig/cluster\n"
    "(render, rollout: observe, assist or own) says otherwise, and is followed while this runs.\n\n"
    "Exit codes: 0 stopped by a signal, 1 error.",
    {},
    kControllerOptions,
    run_controller};

}  // namespace strake::cmd
