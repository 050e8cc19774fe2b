// UserGuard: what one user may take from the API server, so that nobody can take it all.
//
// A user is the name a credential proves, not the one an administrator acts as. Administrators have no limits of their
// own: what all together may take (net/http_server.h) holds for them too. Thread safe; nothing here waits.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "apistore/rules/authorization.h"
#include "base/limits/rate_limiter.h"
#include "base/result.h"
#include "base/runtime.h"
#include "net/byte_budget.h"

namespace strake::apistore {

/// For each user who is no administrator. An agent needs about 2 requests a second while its node changes, 6 watches
/// and 8 connections; kubectl begins with a burst of some 50 requests, a dashboard watches 30 kinds.
struct UserLimits {
  Rate requests{.per_second = 50, .burst = 200};
  /// A body and what a write stores count as one more request for each of these.
  std::size_t bytes_per_request = 16u << 10;
  std::size_t connections = 96;
  std::size_t watches = 64;
  std::size_t lists_in_flight = 4;
  std::size_t queued_bytes = 24u << 20;         ///< answers that wait for this user
  std::size_t others_queued_bytes = 36u << 20;  ///< for all who are no administrators; the server has 48 MiB
  std::size_t max_names = 10'000;               ///< users whose rate is remembered
};

class UserGuard {
 public:
  explicit UserGuard(UserLimits limits = {})
      : limits_(limits),
        requests_(limits.requests, limits.max_names),
        others_queue_(std::make_shared<net::ByteBudget>(limits.others_queued_bytes)) {}

  const UserLimits& limits() const { return limits_; }

  /// kExhausted (429) with the time to wait.
  Status admit_request(const Caller& user, std::size_t body_bytes, runtime::TimePoint now);
  /// After a write: its object is written to disk whole, however small the request was.
  void charge_stored(const Caller& user, std::size_t bytes, runtime::TimePoint now);

  /// One thing that is open until this goes; nothing for administrators.
  using Hold = std::shared_ptr<const void>;
  /// kExhausted (429) when this user has as many as it may.
  Result<Hold> begin_list(const Caller& user) { return begin(lists_, user, limits_.lists_in_flight, "lists"); }
  Result<Hold> begin_watch(const Caller& user) { return begin(watches_, user, limits_.watches, "watches"); }

  /// Where answers that wait for this user count; null for administrators.
  std::shared_ptr<net::ByteBudget> queue_share(const Caller& user);

  /// Users about whom something is remembered.
  std::size_t remembered() const;

 private:
  struct Counts {
    std::mutex mutex;
    std::unordered_map<std::string, std::size_t> open;  ///< a user without any is not in it
  };
  static Result<Hold> begin(const std::shared_ptr<Counts>& counts, const Caller& user, std::size_t limit,
                            std::string_view what);
  unsigned cost(std::size_t bytes) const;

  const UserLimits limits_;
  mutable std::mutex mutex_;
  RateLimiter requests_;
  const std::shared_ptr<net::ByteBudget> others_queue_;
  std::unordered_map<std::string, std::weak_ptr<net::ByteBudget>> queues_;
  std::size_t forget_queues_at_ = 64;
  const std::shared_ptr<Counts> lists_ = std::make_shared<Counts>();
  const std::shared_ptr<Counts> watches_ = std::make_shared<Counts>();
};

}  // namespace strake::apistore
