#include <unistd.h>

#include <charconv>
#include <cstdio>

#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/verbs/daemon.h"
#include "cmd/output/plan_text.h"
#include "cmd/version.h"
#include "controlplane/control_plane.h"
#include "controlplane/sample_job.h"

namespace strake::cmd {

namespace {

constexpr OptionSpec kUpOptions[] = {
    {"state", "DIR", "folder for the database, keys and sandboxed nodes (default: $XDG_STATE_HOME/strake)"},
    {"listen", "ADDR:PORT", "where the API is served", "127.0.0.1:7443"},
    {"write-kubeconfig", "FILE", "also write the administrator's kubeconfig here (always written: DIR/kubeconfig)"},
    {"nodes", "N", "sandboxed nodes to run in this process: one in three a master, the others workers", "0"},
    {"once", "", "run the sample job (release A, then B) and exit: 0 only if every node and pool ended as planned"},
    {"sample", "", "run the sample job, then stay up"},
    kLogFormatOption,
    kLogLevelOption,
};

constexpr std::size_t kMaxNodes = 1000;

Result<std::size_t> parse_node_count(const std::string& text) {
  std::size_t count = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (failure != std::errc() || end != text.data() + text.size() || count > kMaxNodes) {
    return error(Code::kInvalidArgument, "--nodes {}: a number from 0 to {}", text, kMaxNodes);
  }
  return count;
}

void print_line(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void print_what_to_try(const controlplane::ControlPlane& control_plane) {
  print_line(
      fmt::format("\nThe control plane is at {}. In another terminal:\n"
                  "  export KUBECONFIG={}\n"
                  "  kubectl get nodes,machineconfigpools\n"
                  "  kubectl get machineconfigs\n"
                  "  strake plan\n"
                  "  strake bootimage check\n"
                  "Stop it with Ctrl-C; `strake up` on the same folder goes on where it was.",
                  control_plane.url(), control_plane.kubeconfig().string()));
}

Result<int> run_up(const Invocation& invocation) {
  controlplane::ControlPlaneOptions options;
  options.version = kVersion;
  options.state =
      invocation.value("state").empty() ? default_state_dir() : std::filesystem::path(invocation.value("state"));
  options.listen = invocation.value("listen");
  options.kubeconfig_copy = invocation.value("write-kubeconfig");
  STRAKE_TRY(options.nodes, parse_node_count(invocation.value("nodes")));
  const bool once = invocation.is_set("once");
  const bool sample = once || invocation.is_set("sample");
  if (sample && options.nodes < 2)
    return error(Code::kInvalidArgument, "the sample job needs at least two nodes: add --nodes 6");

  runtime::ThreadRuntime runtime;
  STRAKE_TRY(const auto daemon, Daemon::start(runtime, invocation));
  STRAKE_TRY(const auto control_plane, controlplane::ControlPlane::start(runtime, options, daemon->signals()));
  print_line(fmt::format("Strake {}: API at {}, state in {}, {} sandboxed nodes", kVersion, control_plane->url(),
                         options.state.string(), options.nodes));
  if (sample) {
    controlplane::SampleJobOptions job;
    job.work_dir = options.state / "samples";
    job.nodes = options.nodes;
    job.version = kVersion;
    job.print = print_line;
    job.render_plan = render_plan;
    const Status finished = controlplane::run_sample_job(runtime, control_plane->admin_api(), job, invocation.stop);
    if (!finished.ok()) {
      control_plane->stop();
      return Error(finished.error()).context("the sample job");
    }
  }
  if (!once) {
    print_what_to_try(*control_plane);
    (void)runtime.sleep(std::chrono::hours(24 * 365 * 10), invocation.stop);
  }
  control_plane->stop();
  return kExitOk;
}

}  // namespace

const CommandSpec kUpCommand{
    "up",
    "Run a control plane on this machine: embedded API server, controllers, and sandboxed nodes if wanted.",
    "Everything lives below the state folder; nothing needs root. The API is Kubernetes-style: kubectl works with the "
    "kubeconfig it writes. All data\n"
    "is on disk before a write is answered, so it may be killed at any moment. Sandboxed nodes run the real agent on a "
    "folder each\n"
    "(DIR/nodes/NAME) and \"reboot\" there.\n\n"
    "Exit codes: 0 stopped in good order (with --once: everything ended as planned), 1 error, 3 the state folder is in "
    "use by another process.\n\n"
    "Example: strake up --nodes 6 --once",
    {},
    kUpOptions,
    run_up};

}  // namespace strake::cmd
