// LeaderElector: of several processes one leads, by holding a coordination.k8s.io Lease.
//
// Compatible with client-go's election: the same Lease fields, durations and rules, so both kinds of program may
// contend. Clocks are never compared between machines: a contender starts its own stopwatch when it sees the lease
// change, and takes over when the lease has not changed for its whole duration. The leader counts from before it sent
// its last successful renewal and gives up at the renew deadline, which is shorter, so it has stopped before anybody
// can take over.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "base/runtime.h"
#include "kube/hooks.h"
#include "kube/kube_api.h"

namespace strake::kube {

struct LeaderElectionOptions {
  ObjectKey lease{};
  std::string identity{};  ///< unique to this process: a pod name and something random
  runtime::Duration lease_duration = std::chrono::seconds(15);
  runtime::Duration renew_deadline = std::chrono::seconds(10);
  runtime::Duration retry_period = std::chrono::seconds(2);
  bool release_on_stop = true;  ///< lets the next leader start at once
};

struct LeaderCallbacks {
  /// Runs while we lead, in a task of its own. Must return soon after its token asks: within lease_duration -
  /// renew_deadline.
  std::function<void(std::stop_token)> on_started{};
  /// We no longer lead, and on_started has returned.
  std::function<void()> on_stopped{};
  /// on_started has not returned although another may lead now: a program that cannot tolerate two should exit here.
  std::function<void()> on_overdue{};
  /// Somebody (maybe we) was seen to lead.
  std::function<void(const std::string& identity)> on_new_leader{};
  /// The lease could not be read or written; told at every attempt.
  std::function<void(const LeaseFailure&)> on_failure{};
  /// The lease was read or written again, after failures.
  std::function<void()> on_recovered{};
};

class LeaderElector {
 public:
  /// kInvalidArgument unless lease_duration > renew_deadline > 1.2 retry_period > 0, and identity and lease have names.
  static Status validate(const LeaderElectionOptions& options);

  LeaderElector(runtime::Runtime& runtime, KubeApi& api, LeaderElectionOptions options, LeaderCallbacks callbacks);

  /// Contends, leads, and contends again, until stopped. Returns after on_started and on_stopped have. If on_started
  /// returns by itself, the lease is given up and run() ends.
  Status run(std::stop_token stop);

  /// Exact in time: false from the renew deadline on, even if nobody has noticed yet.
  bool is_leader() const;
  /// The last holder seen; "" when none.
  std::string leader() const;
  /// Why the last attempt to acquire or renew failed, if it did.
  std::optional<Error> last_error() const;

 private:
  enum class Attempt { kHeld, kHeldByOther };
  struct Leading;

  Status contend(std::stop_token stop);
  bool lead(std::stop_token stop);
  Result<Attempt> acquire_or_renew(const Call& call);
  Result<Attempt> try_write(const Call& call);
  void observe(const Object& lease);
  void write_spec(Object& lease, std::string_view holder) const;
  void release(std::stop_token stop);
  bool wait_for(Leading& leading, const Call& call);
  void end_body(Leading& leading);

  runtime::Runtime& runtime_;
  KubeApi& api_;
  const LeaderElectionOptions options_;
  const LeaderCallbacks callbacks_;

  std::string observed_spec_;  ///< the lease as last seen, and since when; run()'s own
  runtime::TimePoint observed_at_{};

  mutable std::mutex mutex_;
  bool leading_ = false;
  runtime::TimePoint lead_until_{};
  std::string leader_;
  std::optional<Error> last_error_;
  unsigned failures_ = 0;  ///< in a row
};

}  // namespace strake::kube
