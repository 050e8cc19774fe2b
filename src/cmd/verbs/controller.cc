#include <unistd.h>

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
  if (::gethostname(host, sizeof host - 1) != 0 || host[0] == '\0')
    return "unknown-host_" + SystemRandom().name_suffix(8);
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

constexpr ExitMeaning kControllerExits[] = {{kExitOk, "stopped by a signal"}};

}  // namespace

const CommandSpec kControllerCommand{
    "controller",
    "Run the controllers against a cluster.",
    "Renders MachineConfigs for every pool and moves nodes to them within maxUnavailable; keeps the config server's "
    "certificate and a stub for every pool "
    "(docs/joining.md). Of several such processes "
    "one acts, by holding the Lease strake-system/strake-controller; the others wait to take over. `strake up` runs "
    "the same controllers inside its own process and holds the same lease.\n\n"
    "Beside a Machine Config Operator (its ClusterOperator exists or it holds a lease) all capabilities only observe: "
    "nothing is written, and each pool gets a line saying whether Strake's render agrees with the operator's. "
    "spec.modes of StrakeConfig/cluster (render, rollout, joining: observe, assist or own) says otherwise, and is "
    "followed "
    "while this runs.\n\n"
    "What goes wrong is said in the log on stderr, with what to do, and in /metrics (docs/metrics.md). A server that "
    "is "
    "away or refuses is waited for.\n\n"
    "  strake controller --kubeconfig admin.kubeconfig",
    {},
    kControllerOptions,
    run_controller,
    kControllerExits,
    Lifetime::kDaemon};

}  // namespace strake::cmd
