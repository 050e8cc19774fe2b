#include "base/runtime.h"

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <thread>

namespace strake::runtime {

Error wake_error(Wake wake, std::string_view waiting_for) {
  STRAKE_INVARIANT(wake != Wake::kReady);
  if (wake == Wake::kTimeout) return error(Code::kTimeout, "timed out waiting for {}", waiting_for);
  return error(Code::kCancelled, "stopped while waiting for {}", waiting_for);
}

Task& Task::operator=(Task&& other) noexcept {
  if (this != &other) {
    stop_and_join();
    impl_ = std::move(other.impl_);
  }
  return *this;
}

void Task::request_stop() {
  if (impl_) impl_->request_stop();
}

void Task::join() {
  if (impl_) impl_->join();
}

void Task::stop_and_join() {
  if (!impl_) return;
  impl_->request_stop();
  impl_->join();
  impl_.reset();
}

Status Runtime::sleep(Duration duration, std::stop_token stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  Condition never(*this);
  const Wake wake = never.wait(lock, call_within(duration, std::move(stop)), [] { return false; });
  if (wake == Wake::kTimeout) return {};
  return wake_error(wake, "time to pass");
}

namespace {

class ThreadTask final : public Task::Impl {
 public:
  ThreadTask(std::string name, std::function<void(std::stop_token)> body)
      : thread_([this, name = std::move(name), body = std::move(body)](std::stop_token stop) {
          pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());  // the kernel keeps 15 characters
          body(std::move(stop));
          done_ = true;
        }) {}

  void request_stop() override { thread_.request_stop(); }
  void join() override {
    if (thread_.joinable()) thread_.join();
  }
  bool done() const override { return done_; }

 private:
  std::atomic<bool> done_ = false;
  std::jthread thread_;
};

}  // namespace

Task ThreadRuntime::spawn(std::string name, std::function<void(std::stop_token)> body) {
  return Task(std::make_unique<ThreadTask>(std::move(name), std::move(body)));
}

std::unique_ptr<Runtime::ConditionImpl> ThreadRuntime::make_condition() {
  class ThreadCondition final : public ConditionImpl {
   public:
    Wake wait(std::unique_lock<std::mutex>& lock, const Call& call, const std::function<bool()>& ready) override {
      const bool is_ready = call.deadline ? changed_.wait_until(lock, call.stop, *call.deadline, ready)
                                          : changed_.wait(lock, call.stop, ready);
      if (is_ready) return Wake::kReady;
      return call.stop.stop_requested() ? Wake::kCancelled : Wake::kTimeout;
    }
    void notify_all() override { changed_.notify_all(); }

   private:
    std::condition_variable_any changed_;
  };
  return std::make_unique<ThreadCondition>();
}

}  // namespace strake::runtime
