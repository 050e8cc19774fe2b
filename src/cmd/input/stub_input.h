// Stubs as verbs read them: from files, or all that a cluster has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/runtime.h"
#include "cmd/cli/command.h"
#include "kube/kube_api.h"
#include "stub/access_book.h"
#include "stub/callers.h"
#include "stub/check.h"
#include "stub/references.h"

namespace strake::cmd {

/// A stub with the name people know it by.
struct NamedStub {
  std::string name;  ///< "openshift-machine-api/worker-user-data", or the file
  stub::FoundStub found;
  Result<stub::Stub> stub;
};

/// What a cluster knows about stubs.
struct ClusterStubs {
  std::vector<NamedStub> stubs;
  std::vector<kube::ObjectPtr> machine_sets;  ///< ControlPlaneMachineSets too
  std::vector<std::string> pools;
  stub::ServerIdentity server;  ///< from the Secret; empty when there is none
  std::string server_problem;   ///< why the Secret's certificate cannot be used; "" when it can, or is not there
  std::optional<stub::AccessBook> access;     ///< nothing when it cannot be read
  std::string access_problem;                 ///< why not
  stub::CallerPages callers;                  ///< what config servers told
  std::map<std::string, std::uint64_t> uses;  ///< of counted tokens, by id
};

/// Kinds the cluster does not have are passed over.
Result<ClusterStubs> read_cluster_stubs(kube::KubeApi& api, const kube::Call& call);

/// What config servers told of their callers; nothing when there is no such ConfigMap.
Result<stub::CallerPages> read_callers(kube::KubeApi& api, const kube::Call& call);

/// Of a file or standard input.
Result<NamedStub> read_stub_file(const std::string& path);

/// The stubs of these names ("worker-user-data", "NAMESPACE/NAME"), all without names. kNotFound for one that is not
/// there.
Result<std::vector<NamedStub>> chosen_stubs(std::vector<NamedStub> all, const std::vector<std::string>& names);

}  // namespace strake::cmd
