#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/output/plan_text.h"
#include "cmd/output/shell_words.h"
#include "cmd/verbs/daemon.h"
#include "cmd/version.h"
#include "controlplane/control_plane.h"
#include "controlplane/sample_job.h"
#include "stub/identity/place.h"

namespace strake::cmd {

namespace {

constexpr std::int64_t kMaxNodes = 1000;

constexpr OptionSpec kUpOptions[] = {
    {"state", "DIR", "folder for the database, keys and sandboxed nodes (default: $XDG_STATE_HOME/strake)", "",
     kFolderValue},
    {"listen", "ADDR:PORT", "where the API is served; an IPv6 address stands in brackets: [::1]:7443", "127.0.0.1:7443",
     kEndpointValue},
    {"config-listen", "ADDR:PORT",
     "where new machines get their first config; none runs no config server (default: the address of --listen with "
     "port 22623, or any free one when --listen has port 0)",
     ""},
    {"server-names", "LIST",
     "further names and addresses clients use, separated by commas: they go into the server's certificate", "",
     kListValue},
    {"write-kubeconfig", "FILE", "also write the administrator's kubeconfig here (always written: DIR/kubeconfig)", "",
     kFileValue},
    {"nodes", "N", "sandboxed nodes to run in this process: one in three a master, the others workers", "0",
     integer_from(0, kMaxNodes)},
    {"boot-time", "DURATION", "how long a sandboxed node is away when it reboots", "2s", kDurationValue},
    {"once", "", "run the sample job (release A, then B) and exit: 0 only if every node and pool ended as planned"},
    {"sample", "", "run the sample job, then stay up"},
    {"audit-log", "FILE",
     "where the API server writes who asked for what, one JSON line a request (default: DIR/audit.log); none keeps no "
     "such log",
     "", kFileValue},
    kLogFormatOption,
    kLogLevelOption,
};

constexpr std::string_view kNoAuditLog = "none";
constexpr std::string_view kNoConfigServer = "none";

/// Nothing: no config server.
Result<std::optional<net::Endpoint>> config_listen(const Invocation& invocation, const net::Endpoint& api) {
  const std::string& wish = invocation.value("config-listen");
  if (wish == kNoConfigServer) return std::optional<net::Endpoint>();
  if (wish.empty())
    return std::optional(net::Endpoint{api.address, api.port == 0 ? std::uint16_t{0} : stub::kConfigServerPort});
  STRAKE_TRY_CONTEXT(net::Endpoint endpoint, net::parse_endpoint(wish), "--config-listen");
  return std::optional(std::move(endpoint));
}

void print_what_to_try(const controlplane::ControlPlane& control_plane, const Invocation& invocation) {
  invocation.out().line(fmt::format(
      "\nThe control plane is at {0}. In another terminal:\n"
      "  export KUBECONFIG={1}\n"
      "  kubectl get nodes,machineconfigpools\n"
      "  kubectl get machineconfigs\n"
      "  {2} plan\n"
      "  {2} bootimage check\n"
      "  {2} stub list -o wide\n"
      "Stop it with Ctrl-C; `{2} up` on the same folder goes on where it was.",
      control_plane.url(), shell_word(control_plane.kubeconfig().string()), program_to_paste(invocation.program)));
}

Result<int> run_up(const Invocation& invocation) {
  controlplane::ControlPlaneOptions options;
  options.version = kVersion;
  options.state = invocation.has("state") ? invocation.path("state") : default_state_dir();
  options.listen = invocation.endpoint("listen");
  STRAKE_TRY(options.config_listen, config_listen(invocation, options.listen));
  if (invocation.has("server-names")) options.server_names = invocation.list("server-names");
  options.kubeconfig_copy = invocation.path("write-kubeconfig");
  options.nodes = static_cast<std::size_t>(invocation.integer("nodes"));
  options.boot_time = invocation.duration("boot-time");
  options.audit_log = invocation.has("audit-log") ? invocation.path("audit-log") : options.state / "audit.log";
  if (options.audit_log == kNoAuditLog) options.audit_log.clear();
  const bool once = invocation.is_set("once");
  const bool sample = once || invocation.is_set("sample");
  if (sample && options.nodes < 2)
    return error(Code::kInvalidArgument, "the sample job needs at least two nodes: add --nodes 6");

  runtime::ThreadRuntime runtime;
  STRAKE_TRY(const auto daemon, Daemon::start(runtime, invocation));
  STRAKE_TRY(const auto control_plane, controlplane::ControlPlane::start(runtime, options, daemon->signals()));
  invocation.out().line(fmt::format("Strake {}: API at {}, state in {}, {} sandboxed nodes", kVersion,
                                    control_plane->url(), options.state.string(), options.nodes));
  if (const std::string url = control_plane->config_url(); !url.empty()) {
    invocation.out().line(fmt::format("New machines get their config at {}/config/POOL", url));
  }
  if (sample) {
    controlplane::SampleJobOptions job;
    job.work_dir = options.state / "samples";
    job.nodes = options.nodes;
    job.limit_per_node += options.boot_time;
    job.version = kVersion;
    job.print = [&](const std::string& line) { invocation.out().line(line); };
    job.first_fetches = [&] { return control_plane->first_fetches(); };
    job.render_plan = render_plan;
    const Status finished = controlplane::run_sample_job(runtime, control_plane->admin_api(), job, invocation.stop);
    if (!finished.ok()) {
      control_plane->stop();
      return Error(finished.error()).context("the sample job");
    }
  }
  if (!sample && options.nodes > 0 && options.config_listen) {
    invocation.out().line("New nodes wait for their first config: apply a release (strake release apply REF)");
  }
  if (!once) {
    print_what_to_try(*control_plane, invocation);
    (void)runtime.sleep(std::chrono::hours(24 * 365 * 10), invocation.stop);
  }
  control_plane->stop();
  return kExitOk;
}

constexpr ExitMeaning kUpExits[] = {{kExitOk, "stopped in good order; with --once: everything ended as planned"},
                                    {kExitBlocked, "the state folder is in use by another process"}};

}  // namespace

const CommandSpec kUpCommand{
    "up",
    "Run a control plane on this machine: embedded API server, controllers, and sandboxed nodes if wanted.",
    "Everything lives below the state folder; nothing needs root. The API is Kubernetes-style: kubectl works with the "
    "kubeconfig it writes. All data is on disk before a write is answered, so it may be killed at any moment. "
    "Sandboxed nodes run the real agent on a folder each (DIR/nodes/NAME) and \"reboot\" there; before their first "
    "boot "
    "they fetch the config of their pool from the config server, with the stub Strake keeps for it, and wait until a "
    "release is applied.\n\n"
    "  strake up --nodes 6 --once",
    {},
    kUpOptions,
    run_up,
    kUpExits,
    Lifetime::kDaemon};

}  // namespace strake::cmd
