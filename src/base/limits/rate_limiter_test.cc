#include "base/limits/rate_limiter.h"

#include <gtest/gtest.h>

namespace strake::rate_limiter_test {

using namespace std::chrono_literals;
using runtime::TimePoint;

const TimePoint kStart = TimePoint() + 1h;

int allowed(RateLimiter& limiter, const std::string& name, int tries, TimePoint now) {
  int count = 0;
  for (int i = 0; i < tries; ++i) count += limiter.take(name, 1, now) == 0ns ? 1 : 0;
  return count;
}

TEST(RateLimiter, ABurstThenSoManyASecond) {
  RateLimiter limiter({.per_second = 10, .burst = 30});
  EXPECT_EQ(allowed(limiter, "a", 100, kStart), 30);
  EXPECT_EQ(limiter.take("a", 1, kStart), 100ms) << "when the next is earned";
  EXPECT_EQ(allowed(limiter, "a", 100, kStart + 99ms), 0);
  EXPECT_EQ(allowed(limiter, "a", 100, kStart + 100ms), 1);
  EXPECT_EQ(allowed(limiter, "a", 100, kStart + 1100ms), 10);
  EXPECT_EQ(allowed(limiter, "a", 100, kStart + 1h), 30) << "a pause earns a burst, not more";
  EXPECT_EQ(allowed(limiter, "b", 100, kStart), 30) << "of others nothing is taken";
}

TEST(RateLimiter, LargeOnesCostMore) {
  RateLimiter limiter({.per_second = 10, .burst = 30});
  EXPECT_EQ(limiter.take("a", 25, kStart), 0ns);
  EXPECT_EQ(limiter.take("a", 10, kStart), 500ms);
  EXPECT_EQ(limiter.take("a", 5, kStart), 0ns) << "what was refused was not spent";
  EXPECT_EQ(limiter.take("b", 1000, kStart), 0ns) << "one that is larger than a burst is not refused for ever";
  limiter.charge("a", 100, kStart);
  EXPECT_EQ(limiter.take("a", 1, kStart + 10s), 100ms) << "a debt is paid first";
  EXPECT_EQ(limiter.take("a", 1, kStart + 10s + 100ms), 0ns);
}

TEST(RateLimiter, RemembersOnlySoManyNames) {
  RateLimiter limiter({.per_second = 1, .burst = 2}, 10'000);
  for (int i = 0; i < 30'000; ++i) (void)limiter.take(fmt::format("name-{}", i), 1, kStart);
  EXPECT_EQ(limiter.names(), 10'000U);
  EXPECT_EQ(allowed(limiter, "newcomer", 10, kStart), 0) << "all newcomers share one account, which is empty";
  EXPECT_EQ(allowed(limiter, "name-7", 10, kStart), 1) << "who is known keeps what is his";
  EXPECT_EQ(allowed(limiter, "newcomer", 10, kStart + 1h), 2) << "who owes nothing any more makes room";
  EXPECT_EQ(limiter.names(), 1U);
}

}  // namespace strake::rate_limiter_test
