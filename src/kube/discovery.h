// Discovery: which kinds an API server serves, and which one a user means by a word.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/json.h"
#include "kube/kube_api.h"
#include "kube/resource.h"

namespace strake::kube {

struct ApiGroup {
  std::string name;                   ///< "" for the core group
  std::vector<std::string> versions;  ///< the preferred one first
};

struct ApiResource {
  Resource resource;
  std::string singular;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  std::vector<std::string> verbs;
  std::vector<std::string> subresources;  ///< "status", "scale", ...
};

/// The resources of one APIResourceList.
Result<std::vector<ApiResource>> parse_resource_list(const json::Value& list);

class Discovery {
 public:
  /// Reads a path of the server; HttpsApi::get_raw.
  using Fetch = std::function<Result<json::Value>(std::vector<std::string> path, const Call& call)>;

  explicit Discovery(Fetch fetch) : fetch_(std::move(fetch)) {}

  /// The core group first, then in the server's order.
  Result<std::vector<ApiGroup>> groups(const Call& call) const;
  Result<std::vector<ApiResource>> resources(const std::string& group, const std::string& version,
                                             const Call& call) const;

  /// Everything, in preferred versions. Groups whose own server is away are left out and named in `unavailable`.
  Result<std::vector<ApiResource>> all(const Call& call, std::vector<std::string>* unavailable = nullptr) const;

  /// "nodes", "node", "no", "Node", "machineconfigs.machineconfiguration.openshift.io" or "deployments.v1.apps".
  /// The answer to all() is kept between calls and fetched again when a word is not found in it.
  Result<ApiResource> find(std::string_view word, const Call& call);

 private:
  Fetch fetch_;
  std::mutex mutex_;
  std::optional<std::vector<ApiResource>> known_;
};

}  // namespace strake::kube
