#include "net/retry.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "net/http_date.h"

namespace strake::net {

std::chrono::milliseconds BackoffPolicy::delay(unsigned attempt, double random) const {
  const double exponent = attempt > 1 ? static_cast<double>(attempt - 1) : 0.0;
  const auto limit = static_cast<double>(cap.count());
  // pow overflows to infinity for a large attempt; min() turns that into the cap.
  const double full = std::min(static_cast<double>(initial.count()) * std::pow(factor, exponent), limit);
  const double shortened = full * (1.0 - std::clamp(jitter, 0.0, 1.0) * std::clamp(random, 0.0, 1.0));
  return std::chrono::milliseconds(std::llround(std::max(shortened, 0.0)));
}

std::chrono::milliseconds BackoffPolicy::delay(unsigned attempt, double random, const Error& error,
                                               std::chrono::milliseconds server_cap) const {
  const auto own = delay(attempt, random);
  return error.retry_after() ? std::max(own, std::min(*error.retry_after(), server_cap)) : own;
}

bool is_retryable(const Error& error) {
  switch (error.code()) {
    case Code::kUnavailable:
    case Code::kTimeout: return true;
    // A rate limit passes, a size limit does not: only the former comes with a time.
    case Code::kExhausted: return error.retry_after().has_value();
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kExists:
    case Code::kConflict:
    case Code::kExpired:
    case Code::kUnauthenticated:
    case Code::kDenied:
    case Code::kCancelled:
    case Code::kCorrupt:
    case Code::kUnsupported:
    case Code::kIo:
    case Code::kInternal: return false;
  }
  return false;
}

std::optional<std::chrono::milliseconds> parse_retry_after(std::string_view value, std::chrono::sys_seconds now) {
  while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  while (!value.empty() && value.back() == ' ') value.remove_suffix(1);
  if (value.empty()) return std::nullopt;
  if (value.find_first_not_of("0123456789") == std::string_view::npos) {
    constexpr std::int64_t kLongestSeconds = 365LL * 24 * 3600;
    std::int64_t seconds = 0;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), seconds);
    if (parsed.ec != std::errc{}) seconds = kLongestSeconds;  // only "too large" is left after the check of the digits
    return std::chrono::seconds(std::min(seconds, kLongestSeconds));
  }
  const auto date = parse_http_date(value);
  if (!date) return std::nullopt;
  return std::max(*date - now, std::chrono::seconds(0));
}

std::optional<std::chrono::milliseconds> retry_time(int status, const Headers& headers, std::chrono::sys_seconds now) {
  constexpr int kTooManyRequests = 429;
  if (const auto later = headers.get("Retry-After")) {
    if (const auto delay = parse_retry_after(*later, now)) return delay;
  }
  if (status == kTooManyRequests) return std::chrono::seconds(1);
  return std::nullopt;
}

}  // namespace strake::net
