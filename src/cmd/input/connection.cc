#include "cmd/input/connection.h"

#include <stdlib.h>

#include "kube/kubeconfig.h"

namespace strake::cmd {

namespace {

std::string environment(const char* name) {
  const char* value = secure_getenv(name);
  return value == nullptr ? "" : value;
}

/// Who names a file means that cluster and no other: looking elsewhere could change the wrong one.
Status refuse_named_but_empty(const kube::KubeconfigLocations& locations) {
  const bool by_option = !locations.explicit_file.empty();
  if (!by_option && locations.kubeconfig_variable.empty()) return {};
  return error(Code::kInvalidArgument, "{} {} names no cluster: the file is empty or not there",
               by_option ? "--kubeconfig" : "$KUBECONFIG",
               by_option ? locations.explicit_file.string() : locations.kubeconfig_variable);
}

}  // namespace

std::filesystem::path default_state_dir() {
  if (const std::string state = environment("XDG_STATE_HOME"); !state.empty())
    return std::filesystem::path(state) / "strake";
  return std::filesystem::path(environment("HOME")) / ".local/state/strake";
}

Result<kube::ClusterAccess> find_cluster(const Invocation& invocation) {
  kube::KubeconfigLocations locations = kube::kubeconfig_locations(invocation.value("kubeconfig"));
  STRAKE_TRY(const kube::Kubeconfig found, kube::load_kubeconfig(locations));
  if (found.empty()) STRAKE_CHECK_OK(refuse_named_but_empty(locations));
  if (found.empty()) {
    const std::filesystem::path own = default_state_dir() / "kubeconfig";
    std::error_code ignored;
    if (std::filesystem::exists(own, ignored)) locations = kube::kubeconfig_locations(own);
  }
  kube::AccessOverrides overrides;
  overrides.context = invocation.value("context");
  STRAKE_TRY_CONTEXT(kube::ClusterAccess access, kube::find_access(locations, kube::in_cluster_locations(), overrides),
                     "finding the API server");
  for (const std::string& secret : {access.bearer_token, access.password}) invocation.out().conceal(secret);
  return access;
}

Result<std::unique_ptr<kube::HttpsApi>> connect_https(runtime::Runtime& runtime, const Invocation& invocation) {
  STRAKE_TRY(kube::ClusterAccess access, find_cluster(invocation));
  return kube::HttpsApi::create(runtime, std::move(access));
}

Result<std::unique_ptr<kube::KubeApi>> connect(runtime::Runtime& runtime, const Invocation& invocation) {
  STRAKE_TRY(std::unique_ptr<kube::HttpsApi> api, connect_https(runtime, invocation));
  return std::unique_ptr<kube::KubeApi>(std::move(api));
}

kube::Call cluster_call(runtime::Runtime& runtime, const Invocation& invocation) {
  return runtime.call_within(invocation.duration("timeout"), invocation.stop);
}

}  // namespace strake::cmd
