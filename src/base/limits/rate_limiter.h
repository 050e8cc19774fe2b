// RateLimiter: how often each of many may do a thing: so many a second, and a burst after a pause.
//
// One moment is kept for each name: when all it has spent will be earned again. A name whose moment has passed is as
// good as unknown and is forgotten when room is needed, so the memory is bounded without anybody being wronged; when
// all places are taken by names that still owe, further ones share one account. Time is given, never asked for. Not
// thread safe: whoever owns it has a lock.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/runtime.h"

namespace strake {

struct Rate {
  unsigned per_second = 1;
  unsigned burst = 1;
};

class RateLimiter {
 public:
  explicit RateLimiter(Rate rate, std::size_t max_names = 10'000) : rate_(rate), max_names_(max_names) {}

  /// Zero: done, and `cost` is spent. Else how long to wait before it is worth another try; nothing is spent.
  runtime::Duration take(std::string_view name, unsigned cost, runtime::TimePoint now);
  /// Spends what was used already, whether it was there or not: the next one waits for it.
  void charge(std::string_view name, unsigned cost, runtime::TimePoint now);

  std::size_t names() const { return earned_again_.size(); }
  const Rate& rate() const { return rate_; }

 private:
  runtime::Duration time_for(unsigned cost) const;
  runtime::TimePoint& account(std::string_view name, runtime::TimePoint now);

  const Rate rate_;
  const std::size_t max_names_;
  std::unordered_map<std::string, runtime::TimePoint> earned_again_;
  runtime::TimePoint of_all_others_{};
  runtime::TimePoint next_sweep_{};
};

}  // namespace strake
