// WorkQueue: keys that need attention, each given to one worker at a time.
//
// A key added while it waits is one piece of work, not two. A key added while a worker has it is handed out again when
// that worker calls done(), so no change is missed and no key is handled twice at once. Failures come back through
// add_rate_limited(): later each time for the same key, and no faster overall than a token bucket allows.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "base/runtime.h"
#include "kube/resource.h"

namespace strake::kube {

using runtime::Call;
using runtime::Duration;

struct RateLimits {
  Duration first_retry = std::chrono::milliseconds(5);  ///< doubled with every further failure of the key
  Duration longest_retry = std::chrono::seconds(1000);
  double per_second = 10;  ///< of all keys together, once the burst is spent
  double burst = 100;
};

/// Delays for retries: the larger of the key's own backoff and what the shared bucket demands.
class RetryDelays {
 public:
  explicit RetryDelays(RateLimits limits) : limits_(limits), tokens_(limits.burst) {}

  Duration next(const ObjectKey& key, runtime::TimePoint now);
  void forget(const ObjectKey& key) { failures_.erase(key); }
  std::uint32_t failures(const ObjectKey& key) const;

 private:
  RateLimits limits_;
  std::map<ObjectKey, std::uint32_t> failures_;
  double tokens_;  ///< negative: already promised to retries that still wait
  std::optional<runtime::TimePoint> refilled_;
};

class WorkQueue {
 public:
  struct Stats {
    std::size_t ready = 0;       ///< waiting for a worker
    std::size_t delayed = 0;     ///< waiting for their time
    std::size_t processing = 0;  ///< with a worker
    std::uint64_t adds = 0;
    std::uint64_t retries = 0;
  };

  explicit WorkQueue(runtime::Runtime& runtime, RateLimits limits = {});

  void add(const ObjectKey& key);
  /// Of several delays for a key that is not yet due the earliest counts.
  void add_after(const ObjectKey& key, Duration delay);
  /// A failure: comes back after its backoff, and not before `at_least` (a server's Retry-After).
  void add_rate_limited(const ObjectKey& key, Duration at_least = Duration::zero());
  /// The key is well again: its next failure starts with the shortest delay.
  void forget(const ObjectKey& key);
  std::uint32_t failures(const ObjectKey& key) const;

  /// The next key; the caller must call done() with it. kCancelled once the queue is shut down and empty.
  Result<ObjectKey> get(const Call& call);
  void done(const ObjectKey& key);

  /// Refuses further keys and forgets delayed ones; what is ready is still handed out.
  void shut_down();

  Stats stats() const;

 private:
  struct Delayed {
    runtime::TimePoint due;
    std::uint64_t order;  ///< equal times keep the order in which they were asked for
    auto operator<=>(const Delayed&) const = default;
  };

  void add_locked(const ObjectKey& key);
  void add_after_locked(const ObjectKey& key, Duration delay);
  void promote_due_locked();
  void changed_locked();

  runtime::Runtime& runtime_;
  mutable std::mutex mutex_;
  runtime::Condition changed_;
  std::uint64_t changes_ = 0;
  bool shut_down_ = false;
  std::deque<ObjectKey> ready_;
  std::set<ObjectKey> dirty_;  ///< added and not yet taken; those in processing_ too wait for done()
  std::set<ObjectKey> processing_;
  std::map<Delayed, ObjectKey> delayed_;
  std::map<ObjectKey, Delayed> delayed_by_key_;
  std::uint64_t next_order_ = 0;
  RetryDelays retries_;
  Stats totals_;
};

}  // namespace strake::kube
