// What image policies ask of images, as requirements of a containers policy.json: by scope for the whole cluster, and
// by scope for each namespace.
//
// Several ClusterImagePolicies about one scope all have to be met. A scope of an ImagePolicy that is one of a
// ClusterImagePolicy, or lies within one, has no effect: what the cluster demands is not for a namespace to change.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/object.h"

namespace strake::machineconfig {

/// Of scopes in all policies together.
inline constexpr std::size_t kMaxPolicyScopes = 1'000;

/// A list of requirements, by scope.
using ScopeRequirements = std::map<std::string, json::Array>;

struct ImagePolicies {
  ScopeRequirements cluster{};
  std::map<std::string, ScopeRequirements> namespaces{};

  bool empty() const { return cluster.empty() && namespaces.empty(); }
  /// Every scope that asks for signatures.
  std::vector<std::string> scopes() const;
};

/// Of the ClusterImagePolicies and ImagePolicies among the objects. `allowed`, `blocked`: lists of the Image config; a
/// policy for what may not be pulled is a mistake. Errors name object and field, and quote no key.
Result<ImagePolicies> read_image_policies(const std::vector<kube::ObjectPtr>& objects,
                                          const std::vector<std::string>& allowed,
                                          const std::vector<std::string>& blocked);

}  // namespace strake::machineconfig
