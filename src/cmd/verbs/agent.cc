#include <sys/stat.h>

#include "api/kinds.h"
#include "base/private_folder.h"
#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/verbs/daemon.h"
#include "controlplane/enrolment.h"
#include "controlplane/renewal.h"
#include "controlplane/sandbox_machine.h"
#include "kube/cluster_access.h"
#include "kube/events.h"

namespace strake::cmd {

namespace {

constexpr OptionSpec kAgentOptions[] = {
    {"node", "NAME", "the node this machine is (default: the one it joined as)"},
    {"root", "DIR", "folder that stands for the machine's root; files are written and the OS recorded below it", "",
     kFolderValue},
    {"dry-run", "", "print what would be done to the machine next, step by step, and do none of it"},
    {"role", "ROLE", "role label of the node when it has to be created", "worker"},
    kKubeconfigOption,
    kContextOption,
    kLogFormatOption,
    kLogLevelOption,
    kMetricsListenOption};

/// Who this agent is, and the kubeconfig it works with.
struct AgentAccess {
  std::string node;
  std::filesystem::path own_kubeconfig;  ///< of a machine that joined; empty: as every verb finds it
  std::unique_ptr<kube::KubeApi> api;
};

/// The kubeconfig named on the command line, else the one of the join, else what every verb takes.
Result<AgentAccess> agent_access(runtime::Runtime& runtime, const Invocation& invocation,
                                 const std::filesystem::path& root) {
  AgentAccess access;
  access.node = invocation.value("node");
  const std::filesystem::path own = controlplane::agent_kubeconfig(root);
  std::error_code failure;
  if (!invocation.value("kubeconfig").empty() || !std::filesystem::exists(own, failure)) {
    if (access.node.empty()) {
      return error(Code::kInvalidArgument,
                   "--node NAME is missing, and this machine has not joined (`strake agent join`)");
    }
    STRAKE_TRY(access.api, connect(runtime, invocation));
    return access;
  }
  STRAKE_CHECK_OK(claim_private_folder(controlplane::agent_folder(root)));
  STRAKE_TRY(const kube::Kubeconfig config, kube::load_kubeconfig({own, "", ""}));
  STRAKE_TRY(kube::ClusterAccess joined, kube::resolve_access(config));
  STRAKE_TRY_CONTEXT(const net::Certificate certificate, net::Certificate::from_pem(joined.client_cert_pem), "{}",
                     own.string());
  const std::string& user = certificate.info().common_name;
  const std::string node = user.starts_with(api::kAgentUserPrefix) ? user.substr(api::kAgentUserPrefix.size()) : "";
  if (access.node.empty()) access.node = node;
  if (access.node != node || node.empty()) {
    return error(Code::kInvalidArgument, "--node {}: this machine has joined as {} ({})", access.node, user,
                 own.string());
  }
  access.own_kubeconfig = own;
  STRAKE_TRY(access.api, kube::HttpsApi::create(runtime, std::move(joined)));
  return access;
}

/// The OS below DIR is a record: on a machine that runs it would be said to be updated and would not be.
Status check_is_sandbox(const std::filesystem::path& root) {
  std::error_code failure;
  if (!std::filesystem::equivalent(root, "/", failure) &&
      !std::filesystem::exists(root / "run/systemd/system", failure))
    return {};
  return error(Code::kUnsupported,
               "--root {} is the root of a machine that runs: this version changes sandboxed folders only",
               root.string());
}

Result<int> run_agent(const Invocation& invocation) {
  const std::filesystem::path root = invocation.path("root");
  if (root.empty()) return error(Code::kInvalidArgument, "--root DIR is missing; the agent works on a sandbox folder");
  std::error_code failure;
  if (!std::filesystem::is_directory(root, failure))
    return error(Code::kNotFound, "--root {}: no such folder; create it first", root.string());
  STRAKE_CHECK_OK(check_is_sandbox(root));
  runtime::ThreadRuntime runtime;
  controlplane::MachineOptions options;
  DirectoryTree tree(root, false);
  const bool only_look = invocation.is_set("dry-run");
  std::unique_ptr<Daemon> daemon;
  if (!only_look) {
    STRAKE_TRY(daemon, Daemon::start(runtime, invocation));
  }
  STRAKE_TRY(const AgentAccess access, agent_access(runtime, invocation, root));
  options.identity = {access.node, invocation.value("role"), ""};
  kube::KubeApi& api = *access.api;
  if (only_look) {
    STRAKE_TRY(const std::string plan,
               controlplane::SandboxMachine(runtime, api, api, tree, options).dry_run(invocation.stop));
    invocation.out().text(plan);
    return kExitOk;
  }
  daemon->signals().listen_to(options);
  kube::EventRecorderOptions recorder;
  recorder.component = "strake-agent";
  recorder.instance = access.node;
  recorder.hooks = daemon->signals().hooks();
  kube::EventRecorder events(runtime, api, std::move(recorder));
  controlplane::RenewalOptions renewal;
  renewal.kubeconfig = access.own_kubeconfig;
  daemon->signals().listen_to(renewal, access.node, events);
  runtime::Task renewing;
  if (!renewal.kubeconfig.empty()) {
    events.start();
    renewing = runtime.spawn("certificate-renewal",
                             [&](std::stop_token stop) { controlplane::keep_renewed(runtime, renewal, stop); });
  }
  const Status ran = controlplane::SandboxMachine(runtime, api, api, tree, options).run(invocation.stop);
  renewing.stop_and_join();
  events.stop();
  STRAKE_CHECK_OK(ran);
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
    "A machine that joined (`strake agent join`) works with its own kubeconfig in DIR/var/lib/strake/agent, unless "
    "--kubeconfig names another, and renews the certificate in it.\n\n"
    "  strake agent --node worker-0 --root /srv/worker-0 --dry-run    what would happen next\n"
    "  strake agent --node worker-0 --root /srv/worker-0",
    {},
    kAgentOptions,
    run_agent,
    kAgentExits,
    Lifetime::kDaemon};

}  // namespace strake::cmd
