// What each node's agent may do on Kubernetes: a ClusterRole and a ClusterRoleBinding for every Node, both named as the
// agent's user, strake:agent:NODE. RBAC cannot say "your own Node, and the MachineConfigs it names", so the names are
// written out and kept current. The embedded API server has no such objects: it looks at the Node itself.
//
// The rights to a config come before the wish to run it: an agent never meets a 403 on its way. Both objects belong to
// their Node, whose end takes them along (garbage collection). What is as it should be is not written. Who sets the
// annotation rbac.authorization.kubernetes.io/autoupdate to "false" on one of them has taken it over: it is left alone,
// which is how an agent is kept out while its Node stays.
//
// Owned by the rollout controller's one worker.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/node.h"
#include "base/runtime.h"
#include "kube/informer.h"
#include "kube/kube_api.h"

namespace strake::rollout {

inline const kube::Resource kClusterRole{"rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", false};
inline const kube::Resource kClusterRoleBinding{"rbac.authorization.k8s.io", "v1", "ClusterRoleBinding",
                                                "clusterrolebindings", false};
/// On both, so that they are found among those of others.
inline constexpr std::string_view kAgentRightsLabel = "strake.dev/agent-rights";
inline constexpr std::string_view kAutoUpdateAnnotation = "rbac.authorization.kubernetes.io/autoupdate";

/// The role of a node's agent that may read these configs, and what gives it to the agent.
kube::Object agent_role(const api::NodeView& node, const std::set<std::string>& configs);
kube::Object agent_binding(const api::NodeView& node);

/// A merge patch that makes `present` what is wanted; an empty object when nothing is missing or when somebody else
/// looks after it.
json::Value rights_patch(const kube::Object& present, const kube::Object& wanted);

/// Whether the server has roles as objects.
Result<bool> serves_roles(kube::KubeApi& api, const kube::Call& call);

class AgentRights {
 public:
  AgentRights(runtime::Runtime& runtime, kube::KubeApi& api, const kube::Hooks& hooks);

  kube::Informer& roles() { return roles_; }
  kube::Informer& bindings() { return bindings_; }
  /// The node whose rights an object of either kind is about; "" for somebody else's object.
  static std::string node_of(const kube::Object& object);

  /// Before the node is asked to run `config`.
  Status allow(const api::NodeView& node, const std::string& config, const kube::Call& call);
  /// Brings the rights to what the Node names now.
  Status keep(const api::NodeView& node, const kube::Call& call);
  /// The Node is gone; so are its rights, soon.
  void forget(const std::string& node);

 private:
  struct Written {
    std::string version;
    kube::ObjectPtr object;
  };
  using WrittenBook = std::map<std::string, Written>;

  Status put(const kube::Informer& cache, WrittenBook& written, const kube::Object& wanted, const kube::Call& call);
  /// As the cache has it, or as we wrote it when the cache is behind.
  static kube::ObjectPtr present(const kube::Informer& cache, WrittenBook& written, const std::string& name);

  kube::KubeApi& api_;
  kube::Informer roles_;
  kube::Informer bindings_;
  WrittenBook written_roles_;
  WrittenBook written_bindings_;
  std::map<std::string, std::string> promised_;  ///< by node: the config its Node is about to name
};

}  // namespace strake::rollout
