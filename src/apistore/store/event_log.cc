#include "apistore/store/event_log.h"

#include <algorithm>

namespace strake::apistore {

namespace {
constexpr std::size_t kHistoryChunk = 256;
}

struct Subscription::State {
  State(runtime::Runtime& runtime, SubscribeOptions wanted) : options(std::move(wanted)), changed(runtime) {}

  bool wants(const StoreEvent& event) const {
    return event.revision > cursor && (options.resource.empty() || options.resource == event.key.resource) &&
           (options.ns.empty() || options.ns == event.key.ns) && (!options.filter || options.filter(event));
  }

  const SubscribeOptions options;
  runtime::Condition changed;
  // Guarded by the log's mutex.
  std::deque<StoreEventPtr> queue;
  Revision cursor = 0;  ///< every matching event up to here is in the queue or was handed out
  Revision handed = 0;  ///< every matching event up to here was handed out
  bool behind = true;   ///< events after the cursor must be fetched; publish leaves this subscriber alone
};

Subscription::~Subscription() { log_.forget(state_); }

Result<StoreEventPtr> Subscription::next(const runtime::Call& call) { return log_.take(*state_, &call); }

Result<StoreEventPtr> Subscription::try_next() { return log_.take(*state_, nullptr); }

Revision Subscription::caught_up_to() const {
  std::lock_guard lock(log_.mutex_);
  if (state_->behind || !state_->queue.empty()) return state_->handed;
  return std::max(state_->handed, log_.published_);
}

EventLog::EventLog(runtime::Runtime& runtime, const EventLogLimits& limits, Revision published, HistoryReader history)
    : runtime_(runtime), limits_(limits), history_(std::move(history)), published_(published) {}

EventLog::~EventLog() { STRAKE_INVARIANT(subscribers_.empty()); }

std::vector<std::function<void()>> EventLog::publish(const std::vector<StoreEventPtr>& events) {
  std::vector<StatePtr> woken;
  std::lock_guard lock(mutex_);
  for (const StoreEventPtr& event : events) {
    STRAKE_INVARIANT(event->revision == published_ + 1);
    published_ = event->revision;
    ring_bytes_ += event->size_bytes();
    ring_.push_back(event);
    const std::string any;
    for (const std::string& resource : {event->key.resource, any}) {
      const auto found = subscribers_.find(resource);
      if (found == subscribers_.end()) continue;
      for (const StatePtr& state : found->second) {
        if (state->behind || !state->wants(*event)) continue;
        if (state->queue.size() >= limits_.queue_events) {
          // Too slow: give up the queue, keep the place.
          state->queue.clear();
          state->cursor = state->handed;
          state->behind = true;
          continue;
        }
        if (state->queue.empty()) {
          // Nothing before this one is outstanding, however long ago the last match was: a later overflow resumes here.
          state->handed = std::max(state->handed, event->revision - 1);
          woken.push_back(state);
        }
        state->queue.push_back(event);
        state->cursor = event->revision;
      }
    }
  }
  while (!ring_.empty() && (ring_.size() > limits_.ring_events || ring_bytes_ > limits_.ring_bytes)) {
    ring_bytes_ -= ring_.front()->size_bytes();
    ring_.pop_front();
  }
  std::vector<std::function<void()>> callbacks;
  for (const StatePtr& state : woken) {
    state->changed.notify_all();
    if (state->options.ready) callbacks.push_back([state] { state->options.ready(); });
  }
  return callbacks;
}

std::unique_ptr<Subscription> EventLog::subscribe(SubscribeOptions options) {
  auto state = std::make_shared<Subscription::State>(runtime_, std::move(options));
  state->cursor = state->handed = state->options.after;
  std::lock_guard lock(mutex_);
  // A subscriber at the front misses nothing from now on; every other fetches first.
  state->behind = state->cursor < published_;
  subscribers_[state->options.resource].push_back(state);
  return std::unique_ptr<Subscription>(new Subscription(*this, std::move(state)));
}

void EventLog::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  for (const auto& [resource, states] : subscribers_) {
    for (const StatePtr& state : states) state->changed.notify_all();
  }
}

void EventLog::forget(const StatePtr& state) {
  std::lock_guard lock(mutex_);
  const auto found = subscribers_.find(state->options.resource);
  std::erase(found->second, state);
  if (found->second.empty()) subscribers_.erase(found);
}

Result<StoreEventPtr> EventLog::take(Subscription::State& state, const runtime::Call* call) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (closed_) return error(Code::kCancelled, "the store is closing");
    if (!state.queue.empty()) {
      StoreEventPtr event = std::move(state.queue.front());
      state.queue.pop_front();
      state.handed = event->revision;
      return event;
    }
    if (state.behind) {
      STRAKE_CHECK_OK(catch_up(state, lock));
      continue;
    }
    if (call == nullptr) return StoreEventPtr();
    const runtime::Wake wake =
        state.changed.wait(lock, *call, [&] { return closed_ || state.behind || !state.queue.empty(); });
    if (wake != runtime::Wake::kReady) return runtime::wake_error(wake, "a change");
  }
}

Status EventLog::catch_up(Subscription::State& state, std::unique_lock<std::mutex>& lock) {
  if (state.cursor >= published_) {
    state.behind = false;
    return {};
  }
  const Revision ring_begin = ring_.empty() ? published_ + 1 : ring_.front()->revision;
  if (state.cursor + 1 >= ring_begin) {
    auto event = ring_.begin() + static_cast<std::ptrdiff_t>(state.cursor + 1 - ring_begin);
    for (; event != ring_.end() && state.queue.size() < limits_.queue_events; ++event) {
      if (state.wants(**event)) state.queue.push_back(*event);
      state.cursor = (*event)->revision;
    }
    state.behind = event != ring_.end();
    if (state.queue.empty()) state.handed = state.cursor;
    return {};
  }
  // The database is read without the lock; only this subscriber's own task moves its cursor while it is behind.
  const Revision after = state.cursor;
  lock.unlock();
  Result<HistoryChunk> chunk = history_(state.options.resource, state.options.ns, after, kHistoryChunk);
  lock.lock();
  if (!chunk.ok()) return std::move(chunk).error();
  for (StoreEventPtr& event : chunk->events) {
    if (state.wants(*event)) state.queue.push_back(std::move(event));
  }
  state.cursor = std::max(state.cursor, chunk->scanned_to);
  if (state.queue.empty()) state.handed = state.cursor;
  return {};
}

}  // namespace strake::apistore
