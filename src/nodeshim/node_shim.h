// Stands in for a kubelet on sandboxed nodes: makes the Node, keeps it Ready while the machine runs, says when it goes
// down.
#pragma once

#include <string>

#include "base/runtime.h"
#include "kube/kube_api.h"

namespace strake::nodeshim {

struct NodeIdentity {
  std::string name;
  std::string role;  ///< "worker", "master" or a custom pool's name
  std::string zone;
};

class NodeShim {
 public:
  NodeShim(runtime::Runtime& runtime, kube::KubeApi& api, NodeIdentity identity)
      : runtime_(runtime), api_(api), identity_(std::move(identity)) {}

  /// The machine has booted: the Node exists and is Ready. Tries until it succeeds or is stopped.
  Status machine_up(const std::string& boot_id, const std::string& os_image, std::stop_token stop);
  /// The machine is about to go down. Best effort, as with a real machine.
  void machine_down(const std::string& why, std::stop_token stop);
  /// Renews the Ready condition until stopped.
  void heartbeat(std::stop_token stop);

 private:
  Status ensure_node(std::stop_token stop);
  Status write_ready(bool ready, const std::string& reason, const std::string& message, std::stop_token stop);

  runtime::Runtime& runtime_;
  kube::KubeApi& api_;
  NodeIdentity identity_;
  std::string boot_id_;
  std::string os_image_;
  bool ready_ = false;
  std::string ready_since_;
};

}  // namespace strake::nodeshim
