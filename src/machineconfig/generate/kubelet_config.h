// KubeletConfig: what it makes of kubelet.conf and the files beside it.
//
// The user's settings are laid over the base file: objects are merged, lists and values replace, and what is written
// out counts, false and "" included. Some settings belong to the cluster and are refused by name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/object.h"
#include "machineconfig/generate/generated_config.h"

namespace strake::machineconfig {

inline constexpr std::string_view kKubeletConfPath = "/etc/kubernetes/kubelet.conf";
inline constexpr std::string_view kKubeletLoggingPath = "/etc/systemd/system/kubelet.service.d/20-logging.conf";
inline constexpr std::string_view kNodeSizingPath = "/etc/node-sizing-enabled.env";

/// On a KubeletConfig: "small" starts from Strake's own base where no base config of the pool has a kubelet.conf.
/// Nobody gets it without asking: kubeadm keeps the kubelet's credentials under the same name.
inline constexpr std::string_view kKubeletBaseAnnotation = "strake.dev/kubelet-base";
inline constexpr std::string_view kSmallKubeletBase = "small";

struct KubeletInput {
  const kube::Object* config = nullptr;
  const kube::Object* pool = nullptr;
  std::optional<std::string> base{};  ///< kubelet.conf of the pool's base configs
};

/// Errors name the field.
Result<std::vector<GeneratedFile>> generate_kubelet_config(const KubeletInput& input);

/// Our own base file: what any cluster's kubelet can start with.
std::string_view small_kubelet_conf();
/// kNodeSizingPath while no KubeletConfig says otherwise.
std::string usual_node_sizing();

/// A pool of control plane machines, by its name or by the nodes it selects.
bool is_control_plane_pool(const kube::Object& pool);

}  // namespace strake::machineconfig
