// WorkQueue: keys that need attention, each given to one worker at a time.
//
// A key added while it waits is one piece of work, not two. A key added while a worker has it is handed out again when
// that worker calls done(), so no change is missed and no key is handled twice at once. Failures come back through
// add_rate_limited(): later each time for the same key, and no faster overall than a token bucket allows.
//
// The backoff of a failing key holds against its own writes: touch(), for changes that are no news, leaves the key to
// its retry. News (add()) brings a failing key forward, but not sooner than `news_pause` after its last failure; and no
// key at all is handed out more often than `runs_per_second` once its burst is spent. So a loop gone wrong, through
// whatever it writes, costs little.
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
  Duration first_retry = std::chrono::milliseconds(5);  ///< `growth` times as long after every further failure
  Duration longest_retry = std::chrono::minutes(5);
  double per_second = 10;  ///< retries of all keys together, once the burst is spent
  double burst = 100;
  /// A conflict is over in a moment; what fails a third and fourth time needs somebody's help. So it grows quickly:
  /// nine tries in the first minute, then one in minutes.
  double growth = 4;
  Duration news_pause = std::chrono::milliseconds(500);  ///< between a failure and a run that news brings
  double runs_per_second = 5;                            ///< of one key, failing or not, once its burst is spent
  double run_burst = 50;
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

  /// Something new about the key: it is handed out as soon as a worker is free.
  void add(const ObjectKey& key);
  /// Something changed that is no news to a failing key, such as what its own attempt wrote: left to the retry, which
  /// looks at the state of its time. For a key that does not fail the same as add().
  void touch(const ObjectKey& key);
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

  /// How often the key ran lately.
  struct Pace {
    double tokens;
    runtime::TimePoint refilled;
  };

  void add_locked(const ObjectKey& key);
  void add_news_locked(const ObjectKey& key);
  bool bring_forward_locked(const ObjectKey& key);
  bool waits_for_retry_locked(const ObjectKey& key) const;
  std::optional<Duration> pause_before_run_locked(const ObjectKey& key);
  void add_after_locked(const ObjectKey& key, Duration delay);
  void promote_due_locked();
  void changed_locked();

  runtime::Runtime& runtime_;
  mutable std::mutex mutex_;
  runtime::Condition changed_;
  std::uint64_t changes_ = 0;
  bool shut_down_ = false;
  std::deque<ObjectKey> ready_;
  std::set<ObjectKey> dirty_;    ///< added and not yet taken; those in processing_ too wait for done()
  std::set<ObjectKey> touched_;  ///< touched while with a worker
  std::set<ObjectKey> processing_;
  std::map<ObjectKey, runtime::TimePoint> failed_at_;  ///< of the keys that failed last time
  /// Beyond this many, those of keys that have not run for a while are forgotten now and then.
  static constexpr std::size_t kPacesKept = 4096;
  std::map<ObjectKey, Pace> paces_;
  std::size_t next_pace_sweep_ = kPacesKept;
  std::map<Delayed, ObjectKey> delayed_;
  std::map<ObjectKey, Delayed> delayed_by_key_;
  std::uint64_t next_order_ = 0;
  const RateLimits limits_;
  RetryDelays retries_;
  Stats totals_;
};

}  // namespace strake::kube
