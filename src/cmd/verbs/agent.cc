#include <sys/stat.h>

#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/verbs/daemon.h"
#include "controlplane/sandbox_machine.h"

namespace strake::cmd {

namespace {

constexpr OptionSpec kAgentOptions[] = {
    {"node", "NAME", "the node this machine is"},
    {"root", "DIR", "folder that stands for the machine's root; files are written and the OS recorded below it", "",
     kFolderValue},
    {"role", "ROLE", "role label of the node when it has to be created", "worker"},
    kKubeconfigOption,
    kContextOption,
    kLogFormatOption,
    kLogLevelOption,
    kMetricsListenOption};

Result<int> run_agent(const Invocation& invocation) {
  const std::string& node = invocation.value("node");
  const std::filesystem::path root = invocation.path("root");
  if (node.empty()) return error(Code::kInvalidArgument, "--node NAME is missing");
  if (root.empty()) return error(Code::kInvalidArgument, "--root DIR is missing; the agent works on a sandbox folder");
  std::error_code failure;
  if (!std::filesystem::is_directory(root, failure))
    return error(Code::kNotFound, "--root {}: no such folder; create it first", root.string());
  runtime::ThreadRuntime runtime;
  STRAKE_TRY(const auto daemon, Daemon::start(runtime, invocation));
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  DirectoryTree tree(root, false);
  controlplane::MachineOptions options;
  options.identity = {node, invocation.value("role"), ""};
  daemon->signals().listen_to(options);
  STRAKE_CHECK_OK(controlplane::SandboxMachine(runtime, *api, *api, tree, options).run(invocation.stop));
  return kExitOk;
}

constexpr ExitMeaning kAgentExits[] = {{kExitOk, "stopped by a signal"}};

}  // namespace

const CommandSpec kAgentCommand{
    "agent",
    "Run one node's agent on a sandbox folder.",
    "Applies the config the Node object asks for: files and units atomically, OS image and "
    "kernel arguments through the sandbox OS backend, a \"reboot\" where the change needs "
    "one; every step is journalled, so it may be killed at any moment and started again. An update that "
    "cannot be applied is undone, the Node says Degraded and why, and it is tried again, at most once a "
    "minute. Failures are log lines on stderr; a machine that does not come up (a damaged record, a "
    "folder that cannot be written) ends the program.\n\n"
    "  strake agent --node worker-0 --root /srv/worker-0",
    {},
    kAgentOptions,
    run_agent,
    kAgentExits,
    Lifetime::kDaemon};

}  // namespace strake::cmd
