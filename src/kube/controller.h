// Controller: the one reconcile loop. Keys in, reconcile(key) until it succeeds.
//
// Informers (or anybody) put keys into its queue; workers call `reconcile`, which looks at the present state and does
// what is missing. A failure is tried again with growing delay and remembered per key until the key succeeds, so that
// status code can say why an object is behind. A reconcile must be idempotent: it is called as often as the queue
// likes. What a failing reconcile writes does not call it again: see WorkQueue.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/runtime.h"
#include "kube/hooks.h"
#include "kube/informer.h"
#include "kube/work_queue.h"

namespace strake::kube {

struct Reconciled {
  std::optional<Duration> requeue_after;  ///< look again then, although nothing is wrong
};

struct ControllerOptions {
  std::string name{};
  unsigned workers = 1;
  Duration reconcile_timeout = std::chrono::minutes(2);  ///< the deadline of the Call given to reconcile
  RateLimits rate_limits{};
  Hooks hooks{};
};

/// Whether an update changed what somebody wants of the object: its spec (or data), labels, or that it be deleted.
/// Status and annotations, where controllers write, are no news; nor is what an informer with `reduce` cannot see.
bool spec_changed(const Object& before, const Object& now);

class Controller {
 public:
  using Reconcile = std::function<Result<Reconciled>(const ObjectKey& key, const Call& call)>;
  using MapToKeys = std::function<std::vector<ObjectKey>(const Object&)>;
  /// Which updates bring a failing key forward; all others leave it to its retry, so that what an attempt wrote does
  /// not start the next one.
  using IsNews = std::function<bool(const Object& before, const Object& now)>;
  /// Of which updates nobody here would do anything, failing or not: a heartbeat. They wake no worker.
  using Indifferent = std::function<bool(const Object& before, const Object& now)>;

  Controller(runtime::Runtime& runtime, ControllerOptions options, Reconcile reconcile);
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  /// Queues the key of every object that changes, and makes the workers wait for the informer's first list. Before the
  /// start of both; the informer must outlive the controller's run.
  void watch(Informer& informer, IsNews is_news = spec_changed);
  /// The same, for objects that concern others: a node its pools, a pod its owner. An update counts for what it was and
  /// what it is.
  void watch(Informer& informer, MapToKeys map, IsNews is_news = spec_changed, Indifferent indifferent = nullptr);

  void enqueue(const ObjectKey& key) { queue_->add(key); }
  void enqueue_after(const ObjectKey& key, Duration delay) { queue_->add_after(key, delay); }

  void start();
  /// Asks running reconciles to stop and waits for them.
  void stop();

  /// The last failure of each key that has not succeeded since.
  std::map<ObjectKey, Error> errors() const;
  std::optional<Error> error_of(const ObjectKey& key) const;
  WorkQueue::Stats queue_stats() const { return queue_->stats(); }
  const std::string& name() const { return options_.name; }

 private:
  void work(std::stop_token stop);
  void handle(const ObjectKey& key, std::stop_token stop);

  runtime::Runtime& runtime_;
  const ControllerOptions options_;
  const Reconcile reconcile_;
  std::shared_ptr<WorkQueue> queue_;  ///< shared with the informers' handlers, which may outlive the controller
  std::vector<Informer*> sources_;

  mutable std::mutex mutex_;
  std::map<ObjectKey, Error> errors_;
  std::vector<runtime::Task> tasks_;  // last: end before what they use
};

}  // namespace strake::kube
