// Who may do what in the embedded API server: four fixed roles, no role objects.
//
//   admin   group strake:admins or system:masters: everything (controllers run as admin)
//   viewer  group strake:viewers: get, list and watch of everything but Secrets
//   agent   user strake:agent:NODE in group strake:agents: reads what its node needs; writes its own Node's status, the
//           machineconfiguration.openshift.io/ labels and annotations of its own Node, its own MachineConfigNode, its
//           own lease, and Events
//   others  nothing
//
// One pure function. A write is asked about twice: before the object is read, and again with the state before and
// after.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

namespace strake::apistore {

struct Caller {
  std::string user;
  std::vector<std::string> groups;

  bool in_group(std::string_view group) const;
  bool is_admin() const { return in_group("system:masters") || in_group("strake:admins"); }
  /// The API server's own tasks and the controllers of its process.
  static Caller system(std::string_view component);
};

struct Access {
  std::string verb;  ///< get, list, watch, create, update, patch, delete, deletecollection
  std::string group;
  std::string plural;
  std::string subresource;  ///< "", "status", "eviction"
  std::string ns;
  std::string name;  ///< of a list or watch: the name its field selector demands, or ""
};

/// kDenied in kube-apiserver's words. `before` and `after` are null when they are not known (yet) or do not exist.
Status authorize(const Caller& caller, const Access& access, const json::Value* before = nullptr,
                 const json::Value* after = nullptr);

}  // namespace strake::apistore
