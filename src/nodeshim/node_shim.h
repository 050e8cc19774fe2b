// Stands in for a kubelet on sandboxed nodes: makes the Node, keeps it Ready while the machine is well, says when it is
// not.
#pragma once

#include <functional>
#include <string>

#include "base/runtime.h"
#include "kube/kube_api.h"

namespace strake::nodeshim {

struct NodeIdentity {
  std::string name;
  std::string role;  ///< "worker", "master" or a custom pool's name
  std::string zone;
};

/// The API server could not be told about the node.
struct ReportFailure {
  Error error;
  unsigned in_a_row;  ///< 1 for the first
  runtime::Duration next_try;
};

class NodeShim {
 public:
  using OnFailure = std::function<void(const ReportFailure&)>;

  NodeShim(runtime::Runtime& runtime, kube::KubeApi& api, NodeIdentity identity, OnFailure on_failure = nullptr)
      : runtime_(runtime), api_(api), identity_(std::move(identity)), on_failure_(std::move(on_failure)) {}

  /// The machine has booted: the Node exists and is Ready. Tries until it succeeds or is stopped.
  Status machine_up(const std::string& boot_id, const std::string& os_image, std::stop_token stop);
  /// The machine is about to go down. Best effort, as with a real machine.
  void machine_down(const std::string& why, std::stop_token stop);
  /// The machine does not come up: the Node exists, is not Ready and says why. Best effort.
  void machine_broken(const Error& why, std::stop_token stop);
  /// Renews the Ready condition until stopped: True while the machine is well, else False with the reason.
  void heartbeat(const std::function<Status()>& health, std::stop_token stop);

 private:
  Status ensure_node(std::stop_token stop);
  Status write_ready(bool ready, const std::string& reason, const std::string& message, std::stop_token stop);
  Status write_broken(const Error& why, std::stop_token stop);

  runtime::Runtime& runtime_;
  kube::KubeApi& api_;
  NodeIdentity identity_;
  OnFailure on_failure_;
  std::string boot_id_;
  std::string os_image_;
  bool ready_ = false;
  std::string ready_since_;
};

}  // namespace strake::nodeshim
