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
    {"dry-run", "", "print what would be done to the machine next, step by step, and do none of it"},
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
  controlplane::MachineOptions options;
  options.identity = {node, invocation.value("role"), ""};
  DirectoryTree tree(root, false);
  if (invocation.is_set("dry-run")) {
    STRAKE_TRY(const auto api, connect(runtime, invocation));
    STRAKE_TRY(const std::string plan,
               controlplane::SandboxMachine(runtime, *api, *api, tree, options).dry_run(invocation.stop));
    invocation.out().text(plan);
    return kExitOk;
  }
  STRAKE_TRY(const auto daemon, Daemon::start(runtime, invocation));
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  daemon->signals().listen_to(options);
  STRAKE_CHECK_OK(controlplane::SandboxMachine(runtime, *api, *api, tree, options).run(invocation.stop));
  return kExitOk;
}

constexpr ExitMeaning kAgentExits[] = {
    {kExitOk, "stopped by a signal; with --dry-run: the plan was printed"},
    {kExitBlocked, "--dry-run: there is no such Node or config, or the machine cannot follow to it"},
    {kExitUnreachable, "--dry-run: the API server does not answer"}};

}  // namespace

const CommandSpec kAgentCommand{
    "agent",
    "Run one node's agent on a sandbox folder.",
    "Applies the config the Node object asks for: files and units atomically, OS image and "
    "kernel arguments through the sandbox OS backend, services reloaded or restarted where the node disruption policy "
    "says that this is enough, a \"reboot\" where the change needs one; every step is journalled, so it may be killed "
    "at any moment and started again. An update that "
    "cannot be applied is undone, the Node says Degraded and why, and it is tried again, at most once a "
    "minute. Failures are log lines on stderr; a machine that does not come up (a damaged record, a "
    "folder that cannot be written) ends the program.\n\n"
    "  strake agent --node worker-0 --root /srv/worker-0 --dry-run    what would happen next\n"
    "  strake agent --node worker-0 --root /srv/worker-0",
    {},
    kAgentOptions,
    run_agent,
    kAgentExits,
    Lifetime::kDaemon};

}  // namespace strake::cmd
