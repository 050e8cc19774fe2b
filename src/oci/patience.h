// How long a transfer waits for its server: what breaks off is tried again while something comes, and given up after a
// time in which nothing worth the name came. What moves is never cut off.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/runtime.h"
#include "net/retry.h"
#include "oci/transfer_hooks.h"

namespace strake::oci {

struct Patience {
  /// Over all attempts. What a server asks to wait for (Retry-After) does not count.
  std::chrono::milliseconds limit{60'000};
  unsigned max_attempts = 5;  ///< without progress
  net::BackoffPolicy backoff = {};
};

/// Whether the bytes of one attempt come at a pace: a server must not hold us one byte at a time.
class PaceWatch {
 public:
  explicit PaceWatch(std::chrono::milliseconds limit) : limit_(limit) {}

  void begin(runtime::TimePoint now);
  /// kTimeout when too little came since the last time this was looked at. Bytes that are thrown away count.
  Status came(std::uint64_t bytes, runtime::TimePoint now);
  bool trickles() const { return trickles_; }

 private:
  const std::chrono::milliseconds limit_;
  runtime::TimePoint since_ = {};
  std::uint64_t bytes_ = 0;
  bool trickles_ = false;
};

/// Runs `attempt` until it succeeds or fails for good. `progressed` says whether the last attempt got further; `server`
/// is named to whoever waits.
Status try_patiently(const Patience& patience, std::string_view server, const TransferHooks& hooks,
                     runtime::Runtime& runtime, const runtime::Call& call, const std::function<Status()>& attempt,
                     const std::function<bool()>& progressed);

}  // namespace strake::oci
