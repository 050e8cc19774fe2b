#include "net/retry.h"

#include <limits>

#include <gtest/gtest.h>

#include "net/http_date.h"

namespace strake::net::retry_test {
namespace {

using namespace std::chrono_literals;

TEST(BackoffTest, GrowsToTheCap) {
  const BackoffPolicy policy{100ms, 2.0, 1000ms, 0.0};
  EXPECT_EQ(policy.delay(1, 0.9), 100ms);
  EXPECT_EQ(policy.delay(2, 0.0), 200ms);
  EXPECT_EQ(policy.delay(4, 0.5), 800ms);
  EXPECT_EQ(policy.delay(5, 0.5), 1000ms);
  EXPECT_EQ(policy.delay(std::numeric_limits<unsigned>::max(), 0.5), 1000ms);
  EXPECT_EQ(policy.delay(0, 0.5), 100ms);
}

TEST(BackoffTest, JitterShortens) {
  const BackoffPolicy policy{1000ms, 2.0, 60s, 0.5};
  EXPECT_EQ(policy.delay(1, 0.0), 1000ms);
  EXPECT_EQ(policy.delay(1, 0.5), 750ms);
  EXPECT_GE(policy.delay(1, 0.999999), 500ms);
}

TEST(BackoffTest, TheServerMayAskForMoreButNotForEver) {
  const BackoffPolicy policy{100ms, 2.0, 1000ms, 0.0};
  EXPECT_EQ(policy.delay(1, 0, error(Code::kExhausted, "x").with_retry_after(7s)), 7s);
  EXPECT_EQ(policy.delay(1, 0, error(Code::kExhausted, "x").with_retry_after(1ms)), 100ms);
  EXPECT_EQ(policy.delay(1, 0, error(Code::kExhausted, "x").with_retry_after(24h)), 5min);
  EXPECT_EQ(policy.delay(1, 0, error(Code::kUnavailable, "x")), 100ms);
}

TEST(RetryTest, OnlyWhatMayPassByItself) {
  EXPECT_TRUE(is_retryable(error(Code::kUnavailable, "x")));
  EXPECT_TRUE(is_retryable(error(Code::kTimeout, "x")));
  EXPECT_TRUE(is_retryable(error(Code::kExhausted, "x").with_retry_after(1s)));
  EXPECT_FALSE(is_retryable(error(Code::kExhausted, "too long")));
  EXPECT_FALSE(is_retryable(error(Code::kConflict, "x")));
  EXPECT_FALSE(is_retryable(error(Code::kDenied, "x")));
  EXPECT_FALSE(is_retryable(error(Code::kCancelled, "x")));
}

TEST(RetryAfterTest, SecondsAndDates) {
  const auto now = *parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT");
  struct Case {
    const char* text;
    std::optional<std::chrono::milliseconds> expected;
  };
  for (const Case& c :
       {Case{"0", 0ms}, Case{" 120 ", 120s}, Case{"Sun, 06 Nov 1994 08:50:37 GMT", 60s},
        Case{"Sunday, 06-Nov-94 08:49:47 GMT", 10s}, Case{"Sun Nov  6 08:49:38 1994", 1s},
        Case{"Sun, 06 Nov 1994 08:00:00 GMT", 0ms}, Case{"99999999999999999999999", 365 * 24h}, Case{"", std::nullopt},
        Case{"soon", std::nullopt}, Case{"-5", std::nullopt}, Case{"1.5", std::nullopt},
        Case{"Sun, 31 Feb 1994 08:49:37 GMT", std::nullopt}, Case{"Sun, 06 Nov 1994 25:49:37 GMT", std::nullopt}}) {
    EXPECT_EQ(parse_retry_after(c.text, now), c.expected) << c.text;
  }
}

TEST(HttpDateTest, FormatsWhatItParses) {
  for (const char* text :
       {"Thu, 01 Jan 1970 00:00:00 GMT", "Tue, 29 Feb 2028 23:59:59 GMT", "Sun, 06 Nov 1994 08:49:37 GMT"}) {
    const auto time = parse_http_date(text);
    ASSERT_TRUE(time) << text;
    EXPECT_EQ(format_http_date(*time), text);
  }
}

}  // namespace
}  // namespace strake::net::retry_test
