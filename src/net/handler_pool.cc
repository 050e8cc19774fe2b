#include "net/handler_pool.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace strake::net {

struct HandlerPool::Impl {
  void work() {
    for (;;) {
      std::function<void()> job;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return stopping || !jobs.empty(); });
        if (jobs.empty()) return;
        job = std::move(jobs.front());
        jobs.pop_front();
        ++running;
      }
      job();
      job = nullptr;  // what it holds goes before it counts as done
      const std::scoped_lock lock(mutex);
      --running;
    }
  }

  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> jobs;
  std::size_t running = 0;
  bool stopping = false;
  std::vector<std::thread> threads;
};

HandlerPool::HandlerPool(unsigned threads) : impl_(std::make_unique<Impl>()) {
  for (unsigned i = 0; i < std::max(threads, 1U); ++i)
    impl_->threads.emplace_back([impl = impl_.get()] { impl->work(); });
}

HandlerPool::~HandlerPool() { stop(); }

void HandlerPool::submit(std::function<void()> job) {
  {
    const std::scoped_lock lock(impl_->mutex);
    if (impl_->stopping) return;
    impl_->jobs.push_back(std::move(job));
  }
  impl_->changed.notify_one();
}

bool HandlerPool::is_busy() const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->running + impl_->jobs.size() >= impl_->threads.size();
}

void HandlerPool::stop() {
  std::deque<std::function<void()>> dropped;  // destroyed without the lock: a job may own anything
  {
    const std::scoped_lock lock(impl_->mutex);
    impl_->stopping = true;
    dropped.swap(impl_->jobs);
  }
  impl_->changed.notify_all();
  for (std::thread& thread : impl_->threads) thread.join();
  impl_->threads.clear();
}

}  // namespace strake::net
