// The kubeconfig with which a new machine's kubelet makes its first contact.
#pragma once

#include <string>

#include "base/result.h"
#include "kube/object.h"

namespace strake::configserver {

struct NodeKubeconfigInput {
  std::string api_server_url;
  kube::ObjectPtr ca_config_map;  ///< may be absent: the Secret has a copy
  kube::ObjectPtr token_secret;   ///< may be absent where machines get their credentials in another way
  bool token_optional = false;
};

/// kNotFound says which object is missing.
Result<std::string> node_kubeconfig(const NodeKubeconfigInput& input);

}  // namespace strake::configserver
