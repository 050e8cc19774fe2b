#include "base/limits/rate_limiter.h"

#include <algorithm>

namespace strake {

namespace {

/// A sweep looks at every account: who comes under a new name each time shall not make us do that for each request.
constexpr std::chrono::milliseconds kBetweenSweeps{100};

}  // namespace

runtime::Duration RateLimiter::time_for(unsigned cost) const {
  return runtime::Duration(std::chrono::seconds(cost)) / std::max(rate_.per_second, 1U);
}

runtime::TimePoint& RateLimiter::account(std::string_view name, runtime::TimePoint now) {
  const auto found = earned_again_.find(std::string(name));
  if (found != earned_again_.end()) return found->second;
  if (earned_again_.size() >= max_names_ && now >= next_sweep_) {
    next_sweep_ = now + kBetweenSweeps;
    std::erase_if(earned_again_, [&](const auto& entry) { return entry.second <= now; });
  }
  if (earned_again_.size() >= max_names_) return of_all_others_;
  return earned_again_.emplace(name, now).first->second;
}

runtime::Duration RateLimiter::take(std::string_view name, unsigned cost, runtime::TimePoint now) {
  runtime::TimePoint& earned_again = account(name, now);
  const runtime::TimePoint after = std::max(earned_again, now) + time_for(std::min(cost, rate_.burst));
  const runtime::Duration too_early = after - now - time_for(rate_.burst);
  if (too_early > runtime::Duration(0)) return too_early;
  earned_again = after;
  return runtime::Duration(0);
}

void RateLimiter::charge(std::string_view name, unsigned cost, runtime::TimePoint now) {
  runtime::TimePoint& earned_again = account(name, now);
  earned_again = std::max(earned_again, now) + time_for(cost);
}

}  // namespace strake
