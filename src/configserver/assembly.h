// The config one new machine gets: the pool's rendered config, and what the machine needs beside it to join.
//
// A pure function of API objects. What it adds, in this order: the API server's certificate authorities, the node's
// first annotations, the kubelet's first kubeconfig, the rendered MachineConfig for reading, the registries'
// authorities (bootstrap), and last the rendered MachineConfig from which the agent completes the first boot.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ignition/version.h"
#include "kube/object.h"

namespace strake::configserver {

struct AssemblyInput {
  kube::ObjectPtr config;             ///< the rendered MachineConfig
  kube::ObjectPtr controller_config;  ///< may be absent
  std::string layered_image;          ///< what the machine is to boot instead of the config's OS image; "" for that
  std::string kubeconfig;             ///< for the kubelet's first contact
  /// Folder under /etc/docker/certs.d and PEM text; bootstrap only.
  std::vector<std::pair<std::string, std::string>> registry_authorities;
  /// Machines that make the cluster: what completes their first boot reads the newest spec, whatever they asked for.
  bool bootstrap = false;
};

/// Where machines find what is added; the agent reads some of it.
namespace machine_path {
inline constexpr std::string_view kApiServerCa = "/etc/kubernetes/kubelet-ca.crt";
inline constexpr std::string_view kCloudCa =
    "/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem";
inline constexpr std::string_view kNodeAnnotations = "/etc/machine-config-daemon/node-annotations.json";
inline constexpr std::string_view kKubeconfig = "/etc/kubernetes/kubeconfig";
inline constexpr std::string_view kConfigContent = "/etc/mcs-machine-config-content.json";
inline constexpr std::string_view kEncapsulated = "/etc/ignition-machine-config-encapsulated.json";
}  // namespace machine_path

/// The bytes to serve. The input is not changed. kUnsupported: this version has no words for something in the config.
Result<std::string> assemble(const AssemblyInput& input, ignition::SpecVersion version);

}  // namespace strake::configserver
