#include "oci/patience.h"

namespace strake::oci {

namespace {

/// Less than this within the time of patience is no progress.
constexpr std::uint64_t kLeastProgressBytes = 64u << 10;
/// Whoever waits longer than this is told why.
constexpr std::chrono::seconds kLongWait{3};

}  // namespace

void PaceWatch::begin(runtime::TimePoint now) {
  since_ = now;
  bytes_ = 0;
  trickles_ = false;
}

Status PaceWatch::came(std::uint64_t bytes, runtime::TimePoint now) {
  bytes_ += bytes;
  if (now - since_ < limit_) return {};
  const std::uint64_t moved = bytes_;
  begin(now);
  trickles_ = moved < kLeastProgressBytes;
  if (!trickles_) return {};
  return error(Code::kTimeout, "only {} bytes came within {} s", moved,
               std::chrono::floor<std::chrono::seconds>(limit_).count())
      .with_verdict(Verdict::kUnreachable);
}

Status try_patiently(const Patience& patience, std::string_view server, const TransferHooks& hooks,
                     runtime::Runtime& runtime, const runtime::Call& call, const std::function<Status()>& attempt,
                     const std::function<bool()>& progressed) {
  unsigned failures = 0;
  runtime::TimePoint moved = runtime.now();
  for (;;) {
    Status outcome = attempt();
    if (outcome.ok() || !net::is_retryable(outcome.error())) return outcome;
    if (progressed()) {
      failures = 1;
      moved = runtime.now();
    } else {
      ++failures;
    }
    if (failures >= patience.max_attempts) return outcome;
    const auto pause = patience.backoff.delay(failures, runtime.random().unit(), outcome.error());
    if (call.deadline && runtime.now() + pause >= *call.deadline) return outcome;
    if (!outcome.error().retry_after() && runtime.now() + pause - moved >= patience.limit) {
      return std::move(outcome).context("given up after {} s without progress",
                                        std::chrono::floor<std::chrono::seconds>(runtime.now() - moved).count());
    }
    const std::string told = fmt::format("{}: {}; trying again in {:.1f} s", server, outcome.error().message(),
                                         std::chrono::duration<double>(pause).count());
    if (runtime.now() + pause - moved >= kLongWait) {
      hooks.wait(told);
    } else {
      hooks.detail(told);
    }
    STRAKE_CHECK_OK(runtime.sleep(pause, call.stop));
  }
}

}  // namespace strake::oci
