// The drain controller: answers nodes that ask to be drained before an update, and to be opened again after it.
//
// The request and the answer are annotations of the Node, the platform's own, so an agent of either kind can ask. A
// budget that forbids an eviction is respected for as long as it takes; that it takes long is said on the Node.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/runtime.h"
#include "kube/controller.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/kube_api.h"
#include "rollout/drain/drain_plan.h"

namespace strake::rollout {

/// How a drain stands, for logs and metrics.
struct DrainReport {
  std::string node;
  DrainStep step = DrainStep::kNothing;
  std::size_t pods_left = 0;
  std::string why{};  ///< what keeps it, or what was done otherwise than asked
  bool overdue = false;

  bool operator==(const DrainReport&) const = default;
};

struct DrainOptions {
  kube::Hooks hooks{};
  /// Told when a node's report differs from the last. Called by a worker; must not wait.
  std::function<void(const DrainReport&)> on_drain{};
};

class DrainController {
 public:
  DrainController(runtime::Runtime& runtime, kube::KubeApi& api, DrainOptions options = {});

  void start();
  void stop();
  std::map<kube::ObjectKey, Error> errors() const { return controller_.errors(); }

 private:
  /// What is remembered of a node while it is drained.
  struct Going {
    std::string asked;
    runtime::TimePoint since;
    bool said_slow = false;
    bool said_failed = false;
    DrainReport report;
  };

  Result<kube::Reconciled> reconcile(const kube::ObjectKey& key, const kube::Call& call);
  Result<std::vector<api::PodView>> pods_of(const std::string& node, const kube::Call& call);
  Result<std::string> evict(const std::vector<api::PodView>& pods, const kube::Call& call);
  Status patch(const kube::Object& node, const json::Value& change, const kube::Call& call);
  Result<kube::Reconciled> go_on(const kube::Object& node, const DrainPlan& plan, const std::string& blocked);
  void tell(const std::string& node, DrainReport report);
  Going& going(const std::string& node, const std::string& asked);

  runtime::Runtime& runtime_;
  kube::KubeApi& api_;
  const DrainOptions options_;
  kube::Informer nodes_;
  kube::EventRecorder events_;
  std::mutex mutex_;
  std::map<std::string, Going> going_;  ///< by node
  kube::Controller controller_;
};

}  // namespace strake::rollout
