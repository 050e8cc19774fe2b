#include "cmd/input/connection.h"

#include <stdlib.h>

#include "kube/cluster_access.h"
#include "kube/https_api.h"
#include "kube/kubeconfig.h"

namespace strake::cmd {

namespace {

std::string environment(const char* name) {
  const char* value = secure_getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::filesystem::path default_state_dir() {
  if (const std::string state = environment("XDG_STATE_HOME"); !state.empty())
    return std::filesystem::path(state) / "strake";
  return std::filesystem::path(environment("HOME")) / ".local/state/strake";
}

Result<std::unique_ptr<kube::KubeApi>> connect(runtime::Runtime& runtime, const Invocation& invocation) {
  kube::KubeconfigLocations locations = kube::kubeconfig_locations(invocation.value("kubeconfig"));
  STRAKE_TRY(const kube::Kubeconfig found, kube::load_kubeconfig(locations));
  if (found.empty()) {
    const std::filesystem::path own = default_state_dir() / "kubeconfig";
    std::error_code ignored;
    if (std::filesystem::exists(own, ignored)) locations = kube::kubeconfig_locations(own);
  }
  kube::AccessOverrides overrides;
  overrides.context = invocation.value("context");
  STRAKE_TRY_CONTEXT(kube::ClusterAccess access, kube::find_access(locations, kube::in_cluster_locations(), overrides),
                     "finding the API server");
  STRAKE_TRY(std::unique_ptr<kube::HttpsApi> api, kube::HttpsApi::create(runtime, std::move(access)));
  return std::unique_ptr<kube::KubeApi>(std::move(api));
}

Result<bool> wants_json(const Invocation& invocation) {
  const std::string& format = invocation.value("output");
  if (format == "json") return true;
  if (format == "text") return false;
  return error(Code::kInvalidArgument, "-o {}: use text or json", format);
}

}  // namespace strake::cmd
