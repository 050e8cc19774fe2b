// What was committed lately, handed to subscribers in order, without gap or duplicate.
//
// A ring in memory holds the newest changes. A subscriber that starts (or falls) behind the ring reads the database's
// history first and is handed over to the ring under the log's lock. Each subscriber has a short queue of shared
// events; one that does not keep up loses its queue, not its place: it reads on from where it stopped.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "apistore/store/store_types.h"
#include "base/result.h"
#include "base/runtime.h"

namespace strake::apistore {

struct EventLogLimits {
  std::size_t ring_events = 20'000;
  std::size_t ring_bytes = 8u << 20;  ///< seconds of heavy writing; who is further behind reads history
  std::size_t queue_events = 1'000;   ///< per subscriber
};

struct SubscribeOptions {
  std::string resource;  ///< "" = every resource
  std::string ns;        ///< "" = every namespace
  Revision after = 0;
  /// What else must hold for an event to be handed out; null: nothing. Called under the log's lock by whoever commits,
  /// so that a subscriber sleeps through what is not for it: it looks at the event and at nothing else.
  std::function<bool(const StoreEvent&)> filter = nullptr;
  /// Called after a commit that brought something, outside every lock, by whoever committed: must not block and must
  /// not call the store; posting to an executor is what it is for. May be called once more while the subscription is
  /// being destroyed.
  std::function<void()> ready;
};

/// A stretch of history: the matching events, and the revision up to which nothing else matches.
struct HistoryChunk {
  std::vector<StoreEventPtr> events;
  Revision scanned_to = 0;
};

/// Reads the events after a revision from the database; kExpired when they are gone.
using HistoryReader = std::function<Result<HistoryChunk>(const std::string& resource, const std::string& ns,
                                                         Revision after, std::size_t limit)>;

class EventLog;

class Subscription {
 public:
  ~Subscription();
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

  /// The next event, waited for. kExpired: the subscriber was so slow that its place in history is gone. kCancelled:
  /// stopped, or the store closes.
  Result<StoreEventPtr> next(const runtime::Call& call);
  /// The next event, or null when there is none now.
  Result<StoreEventPtr> try_next();
  /// Every matching event up to this revision was handed out: what a bookmark may say.
  Revision caught_up_to() const;

 private:
  friend class EventLog;
  struct State;
  Subscription(EventLog& log, std::shared_ptr<State> state) : log_(log), state_(std::move(state)) {}

  EventLog& log_;
  std::shared_ptr<State> state_;
};

class EventLog {
 public:
  /// `published`: the revision the database holds at start.
  EventLog(runtime::Runtime& runtime, const EventLogLimits& limits, Revision published, HistoryReader history);
  /// Every subscription must be gone.
  ~EventLog();

  /// Events of one commit, in order of revision. Returns the callbacks to run once no lock is held.
  std::vector<std::function<void()>> publish(const std::vector<StoreEventPtr>& events);
  /// The caller has made sure that `options.after` is neither compacted nor in the future.
  std::unique_ptr<Subscription> subscribe(SubscribeOptions options);
  /// Ends every wait with kCancelled.
  void close();

 private:
  friend class Subscription;
  using StatePtr = std::shared_ptr<Subscription::State>;

  Result<StoreEventPtr> take(Subscription::State& state, const runtime::Call* call);
  Status catch_up(Subscription::State& state, std::unique_lock<std::mutex>& lock);
  void forget(const StatePtr& state);

  runtime::Runtime& runtime_;
  const EventLogLimits limits_;
  const HistoryReader history_;

  mutable std::mutex mutex_;
  bool closed_ = false;
  Revision published_;
  std::deque<StoreEventPtr> ring_;  ///< consecutive revisions, the last of them published_
  std::size_t ring_bytes_ = 0;
  std::unordered_map<std::string, std::vector<StatePtr>> subscribers_;  ///< by resource, "" for those of all
};

}  // namespace strake::apistore
