// Several changes that belong together arrive one after the other (`kubectl apply -f DIR`); acting on the first of them
// would send nodes through configurations nobody asked for.
#pragma once

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>

#include "base/runtime.h"

namespace strake::machineconfig {

/// Says how long to wait until changes have stopped coming. A lone change waits one moment of quiet; a stream that
/// never ends is cut off after a while.
class Burst {
 public:
  static constexpr runtime::Duration kQuiet = std::chrono::milliseconds(200);
  static constexpr runtime::Duration kLongest = std::chrono::seconds(3);

  void note_change(runtime::TimePoint now) {
    std::lock_guard lock(mutex_);
    if (!last_ || now - *last_ > kQuiet) first_ = now;
    last_ = now;
  }

  /// nullopt: act now. What comes after that is counted anew.
  std::optional<runtime::Duration> wait_needed(runtime::TimePoint now) {
    std::lock_guard lock(mutex_);
    if (!last_) return std::nullopt;
    const runtime::TimePoint until = std::min(*last_ + kQuiet, *first_ + kLongest);
    if (until > now) return until - now;
    first_ = now;
    return std::nullopt;
  }

 private:
  std::mutex mutex_;
  std::optional<runtime::TimePoint> first_;
  std::optional<runtime::TimePoint> last_;
};

}  // namespace strake::machineconfig
