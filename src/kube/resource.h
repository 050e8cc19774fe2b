// Which kind of object, and which one of them.
#pragma once

#include <compare>
#include <string>
#include <tuple>

namespace strake::kube {

/// A kind as the API serves it.
struct Resource {
  std::string group;  ///< "" for the core group
  std::string version;
  std::string kind;
  std::string plural;
  bool namespaced = false;

  /// "v1" or "machineconfiguration.openshift.io/v1".
  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  /// "nodes" or "machineconfigs.machineconfiguration.openshift.io": names a kind in messages and storage.
  std::string qualified_name() const { return group.empty() ? plural : plural + "." + group; }

  bool operator==(const Resource&) const = default;
};

/// Namespace (empty for cluster-scoped objects) and name.
struct ObjectKey {
  std::string ns;
  std::string name;

  std::string to_string() const { return ns.empty() ? name : ns + "/" + name; }
  auto operator<=>(const ObjectKey&) const = default;
};

/// The built-in kinds Strake itself uses.
namespace core {
inline const Resource kNamespace{"", "v1", "Namespace", "namespaces", false};
inline const Resource kNode{"", "v1", "Node", "nodes", false};
inline const Resource kPod{"", "v1", "Pod", "pods", true};
inline const Resource kSecret{"", "v1", "Secret", "secrets", true};
inline const Resource kConfigMap{"", "v1", "ConfigMap", "configmaps", true};
inline const Resource kEvent{"", "v1", "Event", "events", true};
inline const Resource kLease{"coordination.k8s.io", "v1", "Lease", "leases", true};
inline const Resource kPodDisruptionBudget{"policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", true};
}  // namespace core

}  // namespace strake::kube
