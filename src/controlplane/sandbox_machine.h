// A sandboxed machine: power, boot, kubelet stand-in and agent, on a file tree instead of hardware.
//
// Used by `strake up --nodes N` on real folders and by the simulation in memory: the same agent code either way.
#pragma once

#include <functional>
#include <string>

#include "agent/agent.h"
#include "base/file_tree.h"
#include "base/runtime.h"
#include "codec/json.h"
#include "kube/kube_api.h"
#include "nodeshim/node_shim.h"
#include "osbackend/sandbox_backend.h"
#include "osbackend/sandbox_services.h"

namespace strake::controlplane {

struct MachineOptions {
  nodeshim::NodeIdentity identity;
  runtime::Duration boot_time = std::chrono::seconds(2);  ///< from asking for a reboot until the machine is back
  agent::AgentOptions agent;                              ///< the name of the node is filled in
  osbackend::ServiceManager* services = nullptr;          ///< of the machine; nullptr: a record in its tree
  std::function<osbackend::BootEnd()> boot_end;  ///< how a reboot ends; as staged unless somebody says otherwise
  std::function<void(const nodeshim::ReportFailure&)> on_report_failure;  ///< the kubelet's stand-in cannot write
  runtime::Duration report_unchanged = std::chrono::seconds(10);          ///< see nodeshim::NodeShimOptions
  /// What its first boot brings to its disk, asked for until it is given; empty: nothing.
  std::function<Result<json::Value>(std::stop_token)> first_config;
  /// Why it has none yet, when that is asked again; nullptr: it is on its disk.
  std::function<void(const Error* why, runtime::Duration next_try)> on_first_config;
  /// The machine does not come up, for the how-manieth time, and when that is tried again.
  std::function<void(const Error&, unsigned in_a_row, runtime::Duration next_try)> on_broken;
};

class SandboxMachine {
 public:
  /// `kubelet_api` creates and reports the Node, `agent_api` has the agent's narrower rights.
  SandboxMachine(runtime::Runtime& runtime, kube::KubeApi& kubelet_api, kube::KubeApi& agent_api, FileTree& tree,
                 MachineOptions options);

  /// Powers on and runs until stopped. Run again after its process was killed, it goes on with the boot it had. An
  /// error: the machine does not come up; its Node, if it can be reached, says so.
  Status run(std::stop_token stop);
  /// The same for a machine that nobody watches: one that does not come up is tried again, less and less often.
  void keep_running(std::stop_token stop);
  /// What the agent would do next, as text. Powers nothing on, and changes neither the machine nor the API.
  /// Verdict::kAbsent: there is no such Node or config; kBlocked: the machine cannot follow to what it is asked for.
  Result<std::string> dry_run(std::stop_token stop);

 private:
  Status boot_if_needed(bool rebooting, std::stop_token stop);
  Status get_first_config(std::stop_token stop);
  Result<osbackend::OsStatus> come_up(bool rebooting, std::stop_token stop);
  agent::Outcome live(std::stop_token stop);
  agent::Agent make_agent();

  runtime::Runtime& runtime_;
  kube::KubeApi& agent_api_;
  FileTree& tree_;
  MachineOptions options_;
  osbackend::SandboxBackend os_;
  osbackend::SandboxServices recorded_services_;
  nodeshim::NodeShim shim_;
};

}  // namespace strake::controlplane
