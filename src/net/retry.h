// When to try again: pure arithmetic. The caller brings the random number and does the waiting.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "net/http.h"

namespace strake::net {

/// Delays initial, initial*factor, ... up to cap; each is shortened at random by up to the share `jitter`, so that a
/// crowd that failed together does not come back together.
struct BackoffPolicy {
  std::chrono::milliseconds initial{500};
  double factor = 2.0;
  std::chrono::milliseconds cap{30'000};
  double jitter = 0.5;  ///< 0 none .. 1 anywhere between nothing and the full delay

  /// `attempt` counts the failures so far, from 1; `random` is in [0, 1).
  std::chrono::milliseconds delay(unsigned attempt, double random) const;

  /// As above, but never earlier than the server asked for (Error::retry_after), itself held to `server_cap`.
  std::chrono::milliseconds delay(unsigned attempt, double random, const Error& error,
                                  std::chrono::milliseconds server_cap = std::chrono::minutes(5)) const;
};

/// Whether the same call may succeed later without anybody changing anything.
bool is_retryable(const Error& error);

/// The Retry-After header: a number of seconds, or a date (RFC 9110 section 10.2.3). A date in the past means now.
std::optional<std::chrono::milliseconds> parse_retry_after(std::string_view value, std::chrono::sys_seconds now);

/// When an answer says that it may be asked for again: its Retry-After field, and a moment for a rate limit without
/// one.
std::optional<std::chrono::milliseconds> retry_time(int status, const Headers& headers, std::chrono::sys_seconds now);

}  // namespace strake::net
