// A KubeApi that misbehaves as networks and busy servers do, from a seed, in simulation.
//
// It wraps another KubeApi (usually InProcessApi on a store in memory). What it does to a call is drawn from a
// FaultPlan; what it did is counted, so that a test can prove its faults happened. A Fence models the death of the
// process that owns the API object: once it is raised, no call has an effect any more.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/random.h"
#include "base/simulation.h"
#include "kube/kube_api.h"

namespace strake::apistore {

/// Probabilities, drawn anew for every call or event. Tests may change them while running.
struct FaultPlan {
  double conflict = 0;       ///< an update or patch answered 409 although nothing was wrong
  double lost_request = 0;   ///< kUnavailable, without effect
  double lost_answer = 0;    ///< kUnavailable, after the effect
  double slow = 0;           ///< the call takes up to `max_delay`
  double watch_drop = 0;     ///< a stream ends with events still unread
  double watch_repeat = 0;   ///< an event is delivered twice
  double watch_expired = 0;  ///< a stream ends with kExpired
  double watch_lag = 0;      ///< an event, and all behind it, come up to `max_delay` late
  double page_expired = 0;   ///< kExpired for a continued list
  runtime::Duration max_delay = std::chrono::seconds(5);

  static FaultPlan none() { return {}; }
  /// Everything, often enough that a run of some hundred calls sees each kind.
  static FaultPlan rough();
};

struct FaultCounts {
  std::uint64_t conflicts = 0;
  std::uint64_t lost_requests = 0;
  std::uint64_t lost_answers = 0;
  std::uint64_t slow_calls = 0;
  std::uint64_t watch_drops = 0;
  std::uint64_t watch_repeats = 0;
  std::uint64_t watch_expiries = 0;
  std::uint64_t watch_lags = 0;
  std::uint64_t page_expiries = 0;
  std::uint64_t fenced_calls = 0;
  std::uint64_t calls = 0;
};

/// The life of one simulated process.
class Fence {
 public:
  void raise() { down_ = true; }
  /// The process is started again.
  void lower() {
    down_ = false;
    calls_left_.reset();
  }
  bool down() const { return down_; }
  /// Lets `calls` more calls through, then raises itself: a crash between any two calls.
  void crash_after_calls(std::uint64_t calls) { calls_left_ = calls; }
  /// Counts a call; false when it must not happen.
  bool admit();

 private:
  bool down_ = false;
  std::optional<std::uint64_t> calls_left_;
};

class SimulatedApi final : public kube::KubeApi {
 public:
  /// `plan` and `inner` must outlive this and its streams. Give each instance its own seed, and share counts and fence
  /// as needed.
  SimulatedApi(sim::Simulation& simulation, kube::KubeApi& inner, const FaultPlan& plan, std::uint64_t seed,
               std::shared_ptr<FaultCounts> counts = std::make_shared<FaultCounts>(),
               std::shared_ptr<Fence> fence = std::make_shared<Fence>());

  Result<kube::Object> get(const kube::Resource& resource, const kube::ObjectKey& key, const kube::Call& call) override;
  Result<kube::ListPage> list(const kube::Resource& resource, const std::string& ns, const kube::ListOptions& options,
                              const kube::Call& call) override;
  Result<std::unique_ptr<kube::WatchStream>> watch(const kube::Resource& resource, const std::string& ns,
                                                   const kube::WatchOptions& options, const kube::Call& call) override;
  Result<kube::Object> create(const kube::Resource& resource, const kube::Object& object,
                              const kube::WriteOptions& options, const kube::Call& call) override;
  Result<kube::Object> update(const kube::Resource& resource, const kube::Object& object,
                              const kube::WriteOptions& options, const kube::Call& call) override;
  Result<kube::Object> patch(const kube::Resource& resource, const kube::ObjectKey& key, kube::PatchType type,
                             const json::Value& patch, const kube::WriteOptions& options,
                             const kube::Call& call) override;
  Result<kube::Object> remove(const kube::Resource& resource, const kube::ObjectKey& key,
                              const kube::DeleteOptions& options, const kube::Call& call) override;
  Status remove_collection(const kube::Resource& resource, const std::string& ns, const kube::ListOptions& which,
                           const kube::DeleteOptions& options, const kube::Call& call) override;
  Status evict(const kube::ObjectKey& pod, const kube::DeleteOptions& options, const kube::Call& call) override;

  const FaultCounts& counts() const { return *counts_; }
  Fence& fence() { return *fence_; }

  /// What an instance and its streams share.
  struct Shared {
    sim::Simulation& simulation;
    const FaultPlan& plan;
    SeededRandom random;
    std::shared_ptr<FaultCounts> counts;
    std::shared_ptr<Fence> fence;

    bool draw(double probability, std::uint64_t FaultCounts::* counter);
    runtime::Duration any_delay();
  };

 private:
  /// Everything that may happen to a call before it reaches the server.
  Status before(const kube::Call& call);
  Status draw_conflict(const kube::Resource& resource, const std::string& name);
  /// What may happen to an answer on its way back.
  template <typename T>
  T after(T answer);

  kube::KubeApi& inner_;
  std::shared_ptr<FaultCounts> counts_;
  std::shared_ptr<Fence> fence_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace strake::apistore
