#include "controlplane/sandbox_machine.h"

namespace strake::controlplane {

SandboxMachine::SandboxMachine(runtime::Runtime& runtime, kube::KubeApi& kubelet_api, kube::KubeApi& agent_api,
                               FileTree& tree, MachineOptions options)
    : runtime_(runtime),
      agent_api_(agent_api),
      tree_(tree),
      options_(std::move(options)),
      os_(tree),
      shim_(runtime, kubelet_api, options_.identity) {}

/// A machine that has run before and did not ask for a reboot goes on with the boot it had: only its process was
/// restarted.
Status SandboxMachine::boot_if_needed(bool rebooting) {
  STRAKE_TRY(const std::uint64_t boots, os_.boot_count());
  if (boots > 0 && !rebooting) return {};
  return os_.boot();
}

void SandboxMachine::run(std::stop_token stop) {
  bool rebooting = false;
  while (!stop.stop_requested()) {
    if (!boot_if_needed(rebooting).ok()) return;
    const auto os = os_.status();
    if (!os.ok() || !shim_.machine_up(os->boot_id, os->booted.image, stop).ok()) return;
    agent::AgentOptions agent_options;
    agent_options.node = options_.identity.name;
    agent::Outcome outcome = agent::Outcome::kSettled;
    {
      runtime::Task heartbeat = runtime_.spawn("kubelet-" + options_.identity.name,
                                               [this](std::stop_token beat_stop) { shim_.heartbeat(beat_stop); });
      agent::Agent agent(runtime_, agent_api_, tree_, os_, agent_options);
      outcome = agent.run(stop);
    }
    if (outcome != agent::Outcome::kRebooting) return;
    shim_.machine_down("rebooting", stop);
    if (!runtime_.sleep(options_.boot_time, stop).ok()) return;
    rebooting = true;
  }
}

}  // namespace strake::controlplane
