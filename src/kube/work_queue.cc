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
  const double doubled = static_cast<double>(limits_.first_retry.count()) * std::exp2(std::min(failures, 60u));
  const auto own = doubled >= static_cast<double>(limits_.longest_retry.count())
                       ? limits_.longest_retry
                       : Duration(static_cast<Duration::rep>(doubled));
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
    : runtime_(runtime), changed_(runtime), retries_(limits) {}

void WorkQueue::changed_locked() { ++changes_; }

void WorkQueue::add_locked(const ObjectKey& key) {
  if (shut_down_ || !dirty_.insert(key).second) return;
  ++totals_.adds;
  if (processing_.contains(key)) return;  // done() hands it out again
  ready_.push_back(key);
  changed_locked();
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
    add_after_locked(key, std::max(at_least, retries_.next(key, runtime_.now())));
  }
  changed_.notify_all();
}

void WorkQueue::forget(const ObjectKey& key) {
  std::lock_guard lock(mutex_);
  retries_.forget(key);
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
    if (dirty_.contains(key)) {
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
