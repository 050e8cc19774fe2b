#include "kube/work_queue.h"

#include <algorithm>
#include <cmath>

namespace strake::kube {

std::uint32_t RetryDelays::failures(const ObjectKey& key) const {
  const auto found = failures_.find(key);
  return found == failures_.end() ? 0 : found->second;
}

Duration RetryDelays::next(const ObjectKey& key, runtime::TimePoint now) {
  std::uint32_t& failures = failures_[key];
  const double grown =
      static_cast<double>(limits_.first_retry.count()) * std::pow(limits_.growth, std::min(failures, 60u));
  const auto own = grown >= static_cast<double>(limits_.longest_retry.count())
                       ? limits_.longest_retry
                       : Duration(static_cast<Duration::rep>(grown));
  if (failures < UINT32_MAX) ++failures;

  if (refilled_) {
    const double seconds = std::chrono::duration<double>(now - *refilled_).count();
    tokens_ = std::min(limits_.burst, tokens_ + seconds * limits_.per_second);
  }
  refilled_ = now;
  tokens_ -= 1;
  Duration shared{0};
  if (tokens_ < 0) {
    // The wait is for a token that is refilled later, so the longest retry also bounds what one storm can cost a key.
    const double seconds =
        std::min(-tokens_ / limits_.per_second, std::chrono::duration<double>(limits_.longest_retry).count());
    shared = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  }
  return std::max(own, shared);
}

WorkQueue::WorkQueue(runtime::Runtime& runtime, RateLimits limits)
    : runtime_(runtime), changed_(runtime), limits_(limits), retries_(limits) {}

void WorkQueue::changed_locked() { ++changes_; }

void WorkQueue::add_locked(const ObjectKey& key) {
  if (shut_down_ || !dirty_.insert(key).second) return;
  ++totals_.adds;
  if (processing_.contains(key)) return;  // done() hands it out again
  ready_.push_back(key);
  changed_locked();
}

bool WorkQueue::waits_for_retry_locked(const ObjectKey& key) const {
  return failed_at_.contains(key) && delayed_by_key_.contains(key);
}

/// Takes a key that waits for its retry out of the wait, or makes it wait less. False: it does not wait for a retry.
bool WorkQueue::bring_forward_locked(const ObjectKey& key) {
  if (!waits_for_retry_locked(key)) return false;
  const auto waiting = delayed_by_key_.find(key);
  const runtime::TimePoint earliest = failed_at_.at(key) + limits_.news_pause;
  if (waiting->second.due <= earliest) return true;
  delayed_.erase(waiting->second);
  delayed_by_key_.erase(waiting);
  add_after_locked(key, earliest - runtime_.now());
  return true;
}

void WorkQueue::add_news_locked(const ObjectKey& key) {
  if (shut_down_ || bring_forward_locked(key)) return;
  add_locked(key);
}

/// Nothing when the key may run now; it is then counted as run.
std::optional<Duration> WorkQueue::pause_before_run_locked(const ObjectKey& key) {
  const runtime::TimePoint now = runtime_.now();
  Pace& pace = paces_.try_emplace(key, Pace{limits_.run_burst, now}).first->second;
  const double seconds = std::chrono::duration<double>(now - pace.refilled).count();
  pace.tokens = std::min(limits_.run_burst, pace.tokens + seconds * limits_.runs_per_second);
  pace.refilled = now;
  // A hair less than one, so that rounding does not ask for a pause of nothing.
  constexpr double kOneRun = 1 - 1e-6;
  if (pace.tokens < kOneRun) {
    return std::chrono::duration_cast<Duration>(
        std::chrono::duration<double>((1 - pace.tokens) / limits_.runs_per_second));
  }
  pace.tokens -= 1;
  if (paces_.size() > next_pace_sweep_) {
    const auto full_after = std::chrono::duration<double>(limits_.run_burst / limits_.runs_per_second);
    std::erase_if(paces_, [&](const auto& entry) { return now - entry.second.refilled > full_after; });
    next_pace_sweep_ = std::max(kPacesKept, 2 * paces_.size());
  }
  return std::nullopt;
}

void WorkQueue::add_after_locked(const ObjectKey& key, Duration delay) {
  if (shut_down_) return;
  if (delay <= Duration::zero()) {
    add_locked(key);
    return;
  }
  const Delayed when{runtime_.now() + delay, next_order_++};
  if (const auto found = delayed_by_key_.find(key); found != delayed_by_key_.end()) {
    if (found->second.due <= when.due) return;
    delayed_.erase(found->second);
    found->second = when;
  } else {
    delayed_by_key_.emplace(key, when);
  }
  delayed_.emplace(when, key);
  changed_locked();  // a waiting worker may have to wake earlier
}

void WorkQueue::promote_due_locked() {
  const runtime::TimePoint now = runtime_.now();
  while (!delayed_.empty() && delayed_.begin()->first.due <= now) {
    const ObjectKey key = std::move(delayed_.begin()->second);
    delayed_.erase(delayed_.begin());
    delayed_by_key_.erase(key);
    add_locked(key);
  }
}

void WorkQueue::add(const ObjectKey& key) {
  {
    std::lock_guard lock(mutex_);
    add_news_locked(key);
  }
  changed_.notify_all();
}

void WorkQueue::touch(const ObjectKey& key) {
  {
    std::lock_guard lock(mutex_);
    if (shut_down_ || waits_for_retry_locked(key)) return;
    if (processing_.contains(key)) {
      touched_.insert(key);  // done() knows how it went
      return;
    }
    add_locked(key);
  }
  changed_.notify_all();
}

void WorkQueue::add_after(const ObjectKey& key, Duration delay) {
  {
    std::lock_guard lock(mutex_);
    add_after_locked(key, delay);
  }
  changed_.notify_all();
}

void WorkQueue::add_rate_limited(const ObjectKey& key, Duration at_least) {
  {
    std::lock_guard lock(mutex_);
    if (shut_down_) return;
    ++totals_.retries;
    failed_at_[key] = runtime_.now();
    add_after_locked(key, std::max(at_least, retries_.next(key, runtime_.now())));
  }
  changed_.notify_all();
}

void WorkQueue::forget(const ObjectKey& key) {
  std::lock_guard lock(mutex_);
  retries_.forget(key);
  failed_at_.erase(key);
}

std::uint32_t WorkQueue::failures(const ObjectKey& key) const {
  std::lock_guard lock(mutex_);
  return retries_.failures(key);
}

Result<ObjectKey> WorkQueue::get(const Call& call) {
  std::unique_lock lock(mutex_);
  while (true) {
    promote_due_locked();
    if (!ready_.empty()) {
      ObjectKey key = std::move(ready_.front());
      ready_.pop_front();
      dirty_.erase(key);
      if (const auto pause = pause_before_run_locked(key)) {
        add_after_locked(key, *pause);
        continue;
      }
      processing_.insert(key);
      return key;
    }
    if (shut_down_) return error(Code::kCancelled, "the work queue is shut down");
    Call until = call;
    bool for_delayed = false;
    if (!delayed_.empty() && (!call.deadline || delayed_.begin()->first.due < *call.deadline)) {
      until.deadline = delayed_.begin()->first.due;
      for_delayed = true;
    }
    const std::uint64_t seen = changes_;
    const runtime::Wake wake = changed_.wait(lock, until, [&] { return changes_ != seen; });
    if (wake == runtime::Wake::kCancelled || (wake == runtime::Wake::kTimeout && !for_delayed)) {
      return wake_error(wake, "work");
    }
  }
}

void WorkQueue::done(const ObjectKey& key) {
  {
    std::lock_guard lock(mutex_);
    if (processing_.erase(key) == 0) return;
    const bool touched = touched_.erase(key) > 0;
    if (waits_for_retry_locked(key)) {
      if (dirty_.erase(key) > 0) bring_forward_locked(key);
    } else if (dirty_.contains(key) || (touched && !shut_down_)) {
      dirty_.insert(key);
      ready_.push_back(key);
      changed_locked();
    }
  }
  changed_.notify_all();
}

void WorkQueue::shut_down() {
  {
    std::lock_guard lock(mutex_);
    shut_down_ = true;
    delayed_.clear();
    delayed_by_key_.clear();
    changed_locked();
  }
  changed_.notify_all();
}

WorkQueue::Stats WorkQueue::stats() const {
  std::lock_guard lock(mutex_);
  Stats stats = totals_;
  stats.ready = ready_.size();
  stats.delayed = delayed_.size();
  stats.processing = processing_.size();
  return stats;
}

}  // namespace strake::kube
