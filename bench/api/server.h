// The two API servers that are compared, each in processes of its own and durable: an answered write is on disk.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/runtime.h"
#include "kube/cluster_access.h"
#include "kube/https_api.h"

namespace strake::bench {

class Server {
 public:
  virtual ~Server() = default;
  virtual const std::vector<pid_t>& processes() const = 0;

  kube::HttpsApi& api() { return *api_; }
  /// Below `api`, for answers that shall be received but not parsed.
  kube::HttpsTransport& wire() { return *wire_; }

 protected:
  Status connect(runtime::Runtime& runtime, const std::filesystem::path& kubeconfig);

 private:
  std::unique_ptr<kube::HttpsApi> api_;
  std::shared_ptr<kube::HttpsTransport> wire_;
};

/// `strake up`, as a user starts it, with further options.
Result<std::unique_ptr<Server>> start_strake(runtime::Runtime& runtime, const std::vector<std::string>& options = {});
/// etcd and kube-apiserver with the settings they have in production.
Result<std::unique_ptr<Server>> start_kubernetes(runtime::Runtime& runtime);

}  // namespace strake::bench
