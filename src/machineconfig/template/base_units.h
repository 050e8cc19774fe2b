// The units and drop-ins of our base configs, as texts: the templates themselves, each with the reasons for its lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace strake::machineconfig {

/// One unit of a MachineConfig: its text, or a drop-in of a unit the OS image has.
struct BaseUnit {
  std::string name;        ///< "strake-agent.service"
  std::string contents{};  ///< "" when only a drop-in is added
  std::string dropin{};    ///< name of the drop-in, "" for none
  std::string dropin_text{};
  bool enabled = true;
};

/// Where the agent of a machine comes from.
struct AgentSource {
  std::string image{};  ///< by digest: podman runs it; "": /usr/bin/strake of the OS image
  /// The machine has registry credentials at kPullSecretPath.
  bool with_credentials = false;
};

inline constexpr std::string_view kPullSecretPath = "/var/lib/kubelet/config.json";
inline constexpr std::string_view kProxyEnvironmentPath = "/etc/mco/proxy.env";
inline constexpr std::string_view kFirstBootUnit = "strake-firstboot.service";

/// The agent, and the first boot that comes before the kubelet. The first boot's unit is there and not enabled: the
/// program does not have that verb yet, and a unit the kubelet requires must not fail.
std::vector<BaseUnit> agent_units(const AgentSource& agent);

/// The kubelet where the OS image has the program alone, and what is added to the image's own kubelet.service.
/// `runtime_socket`: "/var/run/crio/crio.sock".
BaseUnit kubelet_unit(std::string_view runtime_socket, std::string_view runtime_unit);
BaseUnit kubelet_hook();
/// For crio.service or containerd.service.
BaseUnit runtime_hook(std::string_view unit);

}  // namespace strake::machineconfig
