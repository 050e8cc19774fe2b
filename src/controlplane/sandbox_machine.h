// A sandboxed machine: power, boot, kubelet stand-in and agent, on a file tree instead of hardware.
//
// Used by `strake up --nodes N` on real folders and by the simulation in memory: the same agent code either way.
#pragma once

#include <string>

#include "agent/agent.h"
#include "base/file_tree.h"
#include "base/runtime.h"
#include "kube/kube_api.h"
#include "nodeshim/node_shim.h"
#include "osbackend/sandbox_backend.h"

namespace strake::controlplane {

struct MachineOptions {
  nodeshim::NodeIdentity identity;
  runtime::Duration boot_time = std::chrono::seconds(2);  ///< from asking for a reboot until the machine is back
};

class SandboxMachine {
 public:
  /// `kubelet_api` creates and reports the Node, `agent_api` has the agent's narrower rights.
  SandboxMachine(runtime::Runtime& runtime, kube::KubeApi& kubelet_api, kube::KubeApi& agent_api, FileTree& tree,
                 MachineOptions options);

  /// Powers on and runs until stopped. Run again after its process was killed, it goes on with the boot it had.
  void run(std::stop_token stop);

 private:
  Status boot_if_needed(bool rebooting);

  runtime::Runtime& runtime_;
  kube::KubeApi& agent_api_;
  FileTree& tree_;
  MachineOptions options_;
  osbackend::SandboxBackend os_;
  nodeshim::NodeShim shim_;
};

}  // namespace strake::controlplane
