#include "base/signal_stop.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace strake {

namespace {

constexpr int kInterruptedStatus = 130;

}  // namespace

struct SignalStop::Impl {
  std::stop_source stop;
  std::atomic<std::chrono::milliseconds> limit{std::chrono::milliseconds(0)};  ///< 0: none
  std::jthread watcher;

  /// In a thread of its own: whoever is told to stop is called by request_stop() itself and might hold it up.
  void start_countdown() const {
    if (const std::chrono::milliseconds left = limit; left.count() > 0) {
      std::thread([left] {
        std::this_thread::sleep_for(left);
        _exit(kInterruptedStatus);
      }).detach();
    }
  }
};

SignalStop::SignalStop() : impl_(std::make_unique<Impl>()) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  impl_->watcher = std::jthread([signals, impl = impl_.get()](std::stop_token ended) {
    for (;;) {
      if (sigwaitinfo(&signals, nullptr) < 0) continue;
      if (ended.stop_requested()) return;
      if (impl->stop.stop_requested()) _exit(kInterruptedStatus);
      impl->start_countdown();
      impl->stop.request_stop();
    }
  });
}

SignalStop::~SignalStop() {
  // Woken by a signal of its own: no command should take longer because its watcher looks only now and then.
  impl_->watcher.request_stop();
  pthread_kill(impl_->watcher.native_handle(), SIGTERM);
}

std::stop_token SignalStop::token() const { return impl_->stop.get_token(); }

void SignalStop::end_within(std::chrono::milliseconds limit) { impl_->limit = limit; }

}  // namespace strake
