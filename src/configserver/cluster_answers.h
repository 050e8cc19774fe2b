// ClusterAnswers: the answers of a cluster's config server, kept current from the API, whichever API that is.
//
// Each pool's answers are made anew when something they are made of changes, and put on the shelf in one move. While
// the API is away what was last made is served on; stale_for() says since when nobody could say whether it is still
// right.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/runtime.h"
#include "configserver/answer_book.h"
#include "kube/controller.h"
#include "kube/events.h"
#include "kube/informer.h"

namespace strake::configserver {

/// What a pool's new machines get now, for logs and metrics.
struct PoolServing {
  std::string pool;
  std::string config{};  ///< "" when none can be served
  std::string layered_image{};
  std::size_t bytes = 0;  ///< of the largest answer
  /// What is wrong: nothing can be served, or not to every Ignition. By version, "" for all.
  std::map<std::string, std::string> problems{};
  bool gone = false;

  bool operator==(const PoolServing&) const = default;
};

struct ClusterAnswersOptions {
  std::string api_server_url;  ///< for the kubeconfig of new machines
  bool bootstrap_token_optional = false;
  kube::Hooks hooks{};
  /// Told when what a pool's machines get changes. Called by the worker; must not wait.
  std::function<void(const PoolServing&)> on_pool{};
  /// A serving certificate and key were found in the cluster, or replaced there. Called by an informer; must not wait.
  std::function<void(const std::string& certificate_pem, const std::string& key_pem)> on_identity{};
};

class ClusterAnswers {
 public:
  ClusterAnswers(runtime::Runtime& runtime, kube::KubeApi& api, AnswerShelf& shelf, ClusterAnswersOptions options);

  void start();
  void stop();

  /// A machine of this pool was turned away: an Event about the pool says why and what to do, the same one again at
  /// most every few minutes. Pools that are not there, and outcomes that are told otherwise, are passed over. From any
  /// task; waits for nothing.
  void note_refused(const std::string& pool, Outcome outcome);

  /// How long something the answers are made of could not be read from the API; nothing while all is well.
  std::optional<runtime::Duration> stale_for() const;

 private:
  Result<kube::Reconciled> reconcile(const kube::ObjectKey& pool_key);
  std::shared_ptr<const PoolAnswers> answers_for(const kube::Object& pool);
  kube::Hooks watched_hooks();
  kube::InformerOptions all_objects();
  kube::InformerOptions one_object(std::string_view name);
  std::vector<kube::ObjectKey> all_pools() const;
  void wake_pools();
  void take_identity();
  void tell(const kube::Object* pool, PoolServing serving);
  std::vector<kube::Informer*> informers();

  runtime::Runtime& runtime_;
  AnswerShelf& shelf_;
  const ClusterAnswersOptions options_;
  mutable std::mutex mutex_;
  std::map<std::size_t, runtime::TimePoint> failing_since_;  ///< by informer
  std::size_t watched_ = 0;                                  ///< informers so far
  std::map<std::pair<std::string, Outcome>, runtime::TimePoint> refusals_told_;
  kube::Informer pools_;
  kube::Informer configs_;
  kube::Informer controller_configs_;
  kube::Informer token_;
  kube::Informer api_server_ca_;
  kube::Informer identity_;
  // Clusters without image builds may not have these kinds; nobody waits for them.
  kube::Informer os_configs_;
  kube::Informer os_builds_;
  kube::EventRecorder events_;
  std::map<std::string, PoolServing> told_;  ///< the worker's own
  kube::Controller controller_;
};

}  // namespace strake::configserver
