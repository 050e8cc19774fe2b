// Stands in for a kubelet on sandboxed nodes: makes the Node, keeps it Ready while the machine is well, says when it is
// not. With an agent's rights it makes no Node, and where a kubelet reports for the node it is silent.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
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

struct NodeShimOptions {
  NodeIdentity identity;
  std::function<void(const ReportFailure&)> on_failure{};
  /// How often a Node is written that says what it said before. The machine itself is looked at every 10 seconds, and
  /// what changes is said at once. A kubelet with a Lease to show that it lives writes its Node every 5 minutes.
  runtime::Duration report_unchanged = std::chrono::seconds(10);
};

class NodeShim {
 public:
  NodeShim(runtime::Runtime& runtime, kube::KubeApi& api, NodeShimOptions options)
      : runtime_(runtime), api_(api), options_(std::move(options)) {}

  /// The machine has booted: the Node exists and is Ready. Tries until it succeeds or is stopped.
  Status machine_up(const std::string& boot_id, const std::string& os_image, std::stop_token stop);
  /// The machine is about to go down. Best effort, as with a real machine.
  void machine_down(const std::string& why, std::stop_token stop);
  /// The machine does not come up: the Node exists, is not Ready and says why. Best effort.
  void machine_broken(const Error& why, std::stop_token stop);
  /// Looks after the Ready condition until stopped: True while the machine is well, else False with the reason.
  void heartbeat(const std::function<Status()>& health, std::stop_token stop);

 private:
  Status ensure_node(std::stop_token stop);
  Status write_ready(bool ready, const std::string& reason, const std::string& message, std::stop_token stop);
  Status write_broken(const Error& why, std::stop_token stop);
  bool is_news(bool ready, const std::string& message);

  runtime::Runtime& runtime_;
  kube::KubeApi& api_;
  const NodeShimOptions options_;
  std::string boot_id_;
  std::string os_image_;
  bool ready_ = false;
  bool kubelet_reports_ = false;  ///< the server takes reports of this node from its kubelet only
  std::string ready_since_;
  std::string said_;  ///< the message of the last report that reached the server
  std::optional<runtime::TimePoint> said_at_;
};

}  // namespace strake::nodeshim
