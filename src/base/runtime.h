// The only door to waiting: tasks, conditions, queues, sleep. Everything that waits takes a Runtime&.
//
// In production a task is a thread (ThreadRuntime below). In simulation (base/simulation.h) one task runs at a time, a
// seeded scheduler picks the next at every wait and every yield, and time is virtual: the same code, replayed byte for
// byte.
//
// The rule that makes both work: a std::mutex guards data for a moment and is never held while calling something that
// may wait.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "base/random.h"
#include "base/result.h"

namespace strake::runtime {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::steady_clock::time_point;  ///< for deadlines; virtual in simulation
using WallTime = std::chrono::system_clock::time_point;   ///< for timestamps people read; virtual in simulation

/// How long a caller is willing to wait: until it is told to stop, or until a moment.
struct Call {
  std::stop_token stop;
  std::optional<TimePoint> deadline;
};

enum class Wake { kReady, kTimeout, kCancelled };

/// Turns what ended a wait into the error a caller reports; must not be called with kReady.
Error wake_error(Wake wake, std::string_view waiting_for);

class Condition;
class Runtime;

/// A running task. Destruction asks it to stop and waits for its end.
class Task {
 public:
  class Impl {
   public:
    virtual ~Impl() = default;
    virtual void request_stop() = 0;
    virtual void join() = 0;
    virtual bool done() const = 0;
  };

  Task() = default;
  explicit Task(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
  Task(Task&&) = default;
  Task& operator=(Task&& other) noexcept;
  ~Task() { stop_and_join(); }

  void request_stop();
  void join();
  void stop_and_join();
  bool done() const { return !impl_ || impl_->done(); }

 private:
  std::unique_ptr<Impl> impl_;
};

class Runtime {
 public:
  virtual ~Runtime() = default;

  virtual TimePoint now() = 0;
  virtual WallTime wall_now() = 0;
  virtual Random& random() = 0;

  /// The name appears in thread lists and simulation traces. The body must return soon after its token asks it to stop.
  virtual Task spawn(std::string name, std::function<void(std::stop_token)> body) = 0;

  /// A place where another task may run first: every API call is one. Nothing in production.
  virtual void yield(std::string_view where) = 0;

  /// kCancelled when stopped early.
  Status sleep(Duration duration, std::stop_token stop);

  Call call_within(Duration timeout, std::stop_token stop = {}) { return Call{std::move(stop), now() + timeout}; }

 protected:
  friend class Condition;
  class ConditionImpl {
   public:
    virtual ~ConditionImpl() = default;
    virtual Wake wait(std::unique_lock<std::mutex>& lock, const Call& call, const std::function<bool()>& ready) = 0;
    virtual void notify_all() = 0;
  };
  virtual std::unique_ptr<ConditionImpl> make_condition() = 0;
};

/// Waiting for a state to become true. The state is guarded by the caller's mutex.
class Condition {
 public:
  explicit Condition(Runtime& runtime) : impl_(runtime.make_condition()) {}

  /// `lock` is held on entry and on return, and released while waiting. `ready` wins over timeout and cancellation.
  Wake wait(std::unique_lock<std::mutex>& lock, const Call& call, const std::function<bool()>& ready) {
    return impl_->wait(lock, call, ready);
  }
  void notify_all() { impl_->notify_all(); }

 private:
  std::unique_ptr<Runtime::ConditionImpl> impl_;
};

/// First in, first out. A closed queue still gives out what it holds, then answers kCancelled.
template <typename T>
class Queue {
 public:
  explicit Queue(Runtime& runtime) : changed_(runtime) {}

  /// False when the queue is closed.
  bool push(T item) {
    {
      std::lock_guard lock(mutex_);
      if (closed_) return false;
      items_.push_back(std::move(item));
    }
    changed_.notify_all();
    return true;
  }

  Result<T> pop(const Call& call) {
    std::unique_lock lock(mutex_);
    const Wake wake = changed_.wait(lock, call, [this] { return closed_ || !items_.empty(); });
    if (wake != Wake::kReady) return wake_error(wake, "the next item of a queue");
    if (items_.empty()) return strake::error(Code::kCancelled, "the queue is closed");
    T item = std::move(items_.front());
    items_.pop_front();
    return item;
  }

  void close() {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }

  std::size_t size() const {
    std::lock_guard lock(mutex_);
    return items_.size();
  }

 private:
  mutable std::mutex mutex_;
  Condition changed_;
  std::deque<T> items_;
  bool closed_ = false;
};

/// Production: tasks are threads, time is the machine's.
class ThreadRuntime final : public Runtime {
 public:
  TimePoint now() override { return std::chrono::steady_clock::now(); }
  WallTime wall_now() override { return std::chrono::system_clock::now(); }
  Random& random() override { return random_; }
  Task spawn(std::string name, std::function<void(std::stop_token)> body) override;
  void yield(std::string_view) override {}

 private:
  std::unique_ptr<ConditionImpl> make_condition() override;
  SystemRandom random_;
};

}  // namespace strake::runtime
