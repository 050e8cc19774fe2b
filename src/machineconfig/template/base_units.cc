#include "machineconfig/template/base_units.h"

#include <fmt/format.h>

#include "machineconfig/agent_files.h"

namespace strake::machineconfig {

namespace {

/// Every @NAME@ of a text gets its value; what the values hold is not looked at again.
std::string filled(std::string_view text, std::initializer_list<std::pair<std::string_view, std::string_view>> values) {
  std::string result;
  while (!text.empty()) {
    bool replaced = false;
    for (const auto& [name, value] : values) {
      if (!text.starts_with(name)) continue;
      result += value;
      text.remove_prefix(name.size());
      replaced = true;
      break;
    }
    if (replaced) continue;
    result += text.front();
    text.remove_prefix(1);
  }
  return result;
}

/// The config a machine is born with waits in this file until its first boot is complete.
constexpr std::string_view kFirstBootText = R"([Unit]
Description=Strake: complete the first boot (OS image and kernel arguments) before the machine joins
# The config the machine was born with; the program puts it aside when everything is in place.
ConditionPathExists=/etc/ignition-machine-config-encapsulated.json
ConditionPathExists=/run/ostree-booted
Wants=network-online.target
After=network-online.target@AFTER@
@REQUIRES@# Pods must not start on an OS that is about to be replaced.
Before=crio.service containerd.service kubelet.service strake-agent.service

[Service]
Type=oneshot
RemainAfterExit=yes
EnvironmentFile=-/etc/mco/proxy.env
ExecStart=@PROGRAM@ agent firstboot --root=@ROOT@
# A registry that is away for a while must not cost the machine.
Restart=on-failure
RestartSec=60

[Install]
RequiredBy=kubelet.service
)";

constexpr std::string_view kAgentText = R"([Unit]
Description=Strake agent: keeps this machine as its config says
Wants=network-online.target
After=network-online.target strake-firstboot.service@AFTER@
@REQUIRES@
[Service]
EnvironmentFile=-/etc/mco/proxy.env
# Until the machine has joined (`strake agent join`) this ends at once and is tried again.
ExecStart=@PROGRAM@ agent --root=@ROOT@
Restart=on-failure
RestartSec=30

[Install]
WantedBy=multi-user.target
)";

constexpr std::string_view kAgentImageText = R"([Unit]
Description=Strake: fetch the image of the agent
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
RemainAfterExit=yes
EnvironmentFile=-/etc/mco/proxy.env
ExecStart=/usr/bin/podman pull --quiet @CREDENTIALS@@IMAGE@
Restart=on-failure
RestartSec=30

[Install]
WantedBy=multi-user.target
)";

constexpr std::string_view kAgentImageUnit = "strake-agent-image.service";

/// Where the machine's root is for the agent.
constexpr std::string_view kOwnRoot = "/";
constexpr std::string_view kRootInContainer = "/rootfs";

/// The whole machine is the container's: the agent writes its files and talks to its systemd.
constexpr std::string_view kPodmanRun =
    "/usr/bin/podman run --rm --replace --name=@NAME@ --pull=never --privileged --net=host --pid=host --ipc=host "
    "--volume=/:/rootfs:rslave --env-host --entrypoint=/usr/bin/strake @IMAGE@";

constexpr std::string_view kKubeletText = R"([Unit]
Description=Kubernetes kubelet
Wants=network-online.target @RUNTIME@
After=network-online.target strake-firstboot.service @RUNTIME@

[Service]
Type=notify
EnvironmentFile=-/etc/mco/proxy.env
# KubeletConfigs change what is reserved and how much is logged through these (20-logging.conf).
EnvironmentFile=/etc/node-sizing-enabled.env
Environment=KUBELET_LOG_LEVEL=2
ExecStartPre=/usr/bin/mkdir --parents /etc/kubernetes/manifests
ExecStart=/usr/bin/kubelet --config=/etc/kubernetes/kubelet.conf \
    --bootstrap-kubeconfig=/etc/kubernetes/kubeconfig --kubeconfig=/var/lib/kubelet/kubeconfig \
    --container-runtime-endpoint=unix://@SOCKET@ \
    --system-reserved=cpu=${SYSTEM_RESERVED_CPU},memory=${SYSTEM_RESERVED_MEMORY},ephemeral-storage=${SYSTEM_RESERVED_ES} \
    --v=${KUBELET_LOG_LEVEL}
Restart=always
RestartSec=10

[Install]
WantedBy=multi-user.target
)";

constexpr std::string_view kHookText = R"([Unit]
# First boot may replace the OS; what runs pods waits for it.
After=strake-firstboot.service

[Service]
EnvironmentFile=-/etc/mco/proxy.env
)";

/// An OS that updates itself would work against the cluster.
constexpr std::string_view kNoOwnUpdatesText = R"([Unit]
ConditionPathExists=/enoent
)";

constexpr std::string_view kHookName = "10-strake.conf";

std::string program_of(const AgentSource& agent, std::string_view name) {
  if (agent.image.empty()) return "/usr/bin/strake";
  return filled(kPodmanRun, {{"@NAME@", name}, {"@IMAGE@", agent.image}});
}

BaseUnit dropin_of(std::string_view unit, std::string_view text) {
  BaseUnit hook;
  hook.name = unit;
  hook.dropin = kHookName;
  hook.dropin_text = text;
  return hook;
}

}  // namespace

std::vector<BaseUnit> agent_units(const AgentSource& agent) {
  std::vector<BaseUnit> units;
  const bool by_podman = !agent.image.empty();
  const std::string after = by_podman ? fmt::format(" {}", kAgentImageUnit) : "";
  const std::string_view root = by_podman ? kRootInContainer : kOwnRoot;
  const std::string requires_line = by_podman ? fmt::format("Requires={}\n", kAgentImageUnit) : "";
  BaseUnit first_boot{std::string(kFirstBootUnit),
                      filled(kFirstBootText, {{"@AFTER@", after},
                                              {"@REQUIRES@", requires_line},
                                              {"@PROGRAM@", program_of(agent, "strake-firstboot")},
                                              {"@ROOT@", root}})};
  first_boot.enabled = false;
  units.push_back(std::move(first_boot));
  if (by_podman) {
    const std::string credentials = agent.with_credentials ? fmt::format("--authfile={} ", kPullSecretPath) : "";
    units.push_back({std::string(kAgentImageUnit),
                     filled(kAgentImageText, {{"@CREDENTIALS@", credentials}, {"@IMAGE@", agent.image}})});
  }
  units.push_back({std::string(kAgentUnit), filled(kAgentText, {{"@AFTER@", after},
                                                                {"@REQUIRES@", requires_line},
                                                                {"@PROGRAM@", program_of(agent, "strake-agent")},
                                                                {"@ROOT@", root}})});
  BaseUnit updater = dropin_of("zincati.service", kNoOwnUpdatesText);
  updater.enabled = false;
  units.push_back(std::move(updater));
  return units;
}

BaseUnit kubelet_unit(std::string_view runtime_socket, std::string_view runtime_unit) {
  return {"kubelet.service", filled(kKubeletText, {{"@SOCKET@", runtime_socket}, {"@RUNTIME@", runtime_unit}})};
}

BaseUnit kubelet_hook() { return dropin_of("kubelet.service", kHookText); }

BaseUnit runtime_hook(std::string_view unit) { return dropin_of(unit, kHookText); }

}  // namespace strake::machineconfig
