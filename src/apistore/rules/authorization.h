// Who may do what in the embedded API server: fixed roles, no role objects. deploy/rbac says the same to Kubernetes,
// and one table of calls is run on both (test/integration/rights_table_test.cc).
//
//   admin          group strake:admins or system:masters: everything (controllers run as admin)
//   viewer         group strake:viewers: get, list and watch of what cannot hold a secret
//   config viewer  group strake:config-viewers: get, list and watch of MachineConfigs and ControllerConfigs, which can
//   agent          user strake:agent:NODE: reads its own Node, the MachineConfigs that this Node names as current or
//                  desired, and MachineConfiguration/cluster (that by its group strake:agents); writes, through the
//                  status of its own Node, the annotations an agent reports with, and the status itself, because no
//                  kubelet stands behind this server
//   config server  group strake:config-servers: reads what machines are given (pools, MachineConfigs,
//   ControllerConfigs,
//                  image builds) and three objects by name: its certificate, the kubelets' first token, whom they
//                  trust; writes Events
//   kubelet        user system:node:NODE in group system:nodes: makes its own Node and reports its status
//   others         nothing
//
// What an agent's program does not use, its role does not have. One pure function. A write is asked about twice: before
// the object is read, and again with the state before and after.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

namespace strake::apistore {

struct Caller {
  std::string user;
  std::vector<std::string> groups;

  bool in_group(std::string_view group) const;
  bool is_admin() const { return in_group("system:masters") || in_group("strake:admins"); }
  /// The node whose agent or kubelet this is; "" for everybody else.
  std::string agent_node() const;
  std::string kubelet_node() const;
  /// The API server's own tasks and the controllers of its process.
  static Caller system(std::string_view component);
  static Caller agent(std::string_view node);
  static Caller kubelet(std::string_view node);
  static Caller config_server(std::string_view name);
};

struct Access {
  std::string verb;  ///< get, list, watch, create, update, patch, delete, deletecollection
  std::string group;
  std::string plural;
  std::string subresource;  ///< "", "status", "eviction"
  std::string ns;
  std::string name;  ///< of a list or watch: the name its field selector demands, or ""
};

/// What an answer may rest on beside the request itself.
struct Evidence {
  const json::Value* before = nullptr;  ///< null when not known (yet), or when there was nothing
  const json::Value* after = nullptr;
  std::vector<std::string> named_configs{};  ///< the MachineConfigs that the agent's own Node names
};

/// Whether the answer rests on Evidence::named_configs: reading a Node is spared to all others.
bool needs_named_configs(const Caller& caller, const Access& access);

/// kDenied in kube-apiserver's words.
Status authorize(const Caller& caller, const Access& access, const Evidence& evidence = {});

/// One line of what a caller may do, as a SelfSubjectRulesReview lists it.
struct Grant {
  std::vector<std::string_view> verbs;
  std::string_view group;
  std::string_view resource;                        ///< "nodes", "nodes/status"
  std::optional<std::vector<std::string>> names{};  ///< nullopt: whatever the name
};
/// Of everybody but administrators, whose rights have no end.
std::vector<Grant> grants_of(const Caller& caller, const std::vector<std::string>& named_configs);

}  // namespace strake::apistore
