#include <unistd.h>

#include <cstdio>

#include "base/random.h"
#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/verbs/daemon.h"
#include "cmd/version.h"
#include "controlplane/controllers.h"

namespace strake::cmd {

namespace {

constexpr OptionSpec kControllerOptions[] = {kKubeconfigOption, kContextOption, kMetricsListenOption, kLogFormatOption,
                                             kLogLevelOption};

std::string process_identity() {
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0 || host[0] == '\0') std::snprintf(host, sizeof host, "unknown-host");
  return fmt::format("{}_{}", host, SystemRandom().name_suffix(8));
}

Result<int> run_controller(const Invocation& invocation) {
  runtime::ThreadRuntime runtime;
  STRAKE_TRY(const auto daemon, Daemon::start(runtime, invocation));
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  controlplane::ControllersOptions options;
  options.version = kVersion;
  options.identity = process_identity();
  daemon->signals().listen_to(options);
  controlplane::run_controllers(runtime, *api, options, invocation.stop);
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
    "What goes wrong is said in the log on stderr, with what to do, and in /metrics (docs/metrics.md). A server that "
    "is "
    "away or\nrefuses is waited for.\n\n"
    "Exit codes: 0 stopped by a signal, 1 error.",
    {},
    kControllerOptions,
    run_controller};

}  // namespace strake::cmd
