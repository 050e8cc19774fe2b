#include "kube/leader_election.h"

#include <algorithm>

#include "base/time.h"

namespace strake::kube {

namespace {

constexpr double kContendJitter = 1.2;
constexpr std::chrono::seconds kReleaseTimeout{5};

runtime::Duration held_for(const Object& lease, runtime::Duration fallback) {
  const auto seconds = json::find_int(lease.json(), {"spec", "leaseDurationSeconds"});
  if (!seconds || *seconds <= 0 || *seconds > std::chrono::hours(24 * 365) / std::chrono::seconds(1)) return fallback;
  return std::chrono::seconds(*seconds);
}

}  // namespace

/// One reign: the task that does the work, and whether it has returned.
struct LeaderElector::Leading {
  explicit Leading(runtime::Runtime& runtime) : changed(runtime) {}
  std::mutex mutex;
  runtime::Condition changed;
  bool body_done = false;
  runtime::Task body;  // last: ends before what it uses
};

Status LeaderElector::validate(const LeaderElectionOptions& options) {
  if (options.identity.empty()) return error(Code::kInvalidArgument, "leader election: the identity is empty");
  if (options.lease.name.empty() || options.lease.ns.empty()) {
    return error(Code::kInvalidArgument, "leader election: the lease needs a namespace and a name");
  }
  if (options.retry_period <= runtime::Duration::zero()) {
    return error(Code::kInvalidArgument, "leader election: the retry period must be positive");
  }
  if (static_cast<double>(options.renew_deadline.count()) <=
      kContendJitter * static_cast<double>(options.retry_period.count())) {
    return error(Code::kInvalidArgument, "leader election: the renew deadline must exceed {} retry periods",
                 kContendJitter);
  }
  if (options.lease_duration <= options.renew_deadline || options.lease_duration < std::chrono::seconds(1)) {
    return error(Code::kInvalidArgument, "leader election: the lease duration must exceed the renew deadline");
  }
  return {};
}

LeaderElector::LeaderElector(runtime::Runtime& runtime, KubeApi& api, LeaderElectionOptions options,
                             LeaderCallbacks callbacks)
    : runtime_(runtime), api_(api), options_(std::move(options)), callbacks_(std::move(callbacks)) {}

bool LeaderElector::is_leader() const {
  std::lock_guard lock(mutex_);
  return leading_ && runtime_.now() < lead_until_;
}

std::string LeaderElector::leader() const {
  std::lock_guard lock(mutex_);
  return leader_;
}

std::optional<Error> LeaderElector::last_error() const {
  std::lock_guard lock(mutex_);
  return last_error_;
}

Status LeaderElector::run(std::stop_token stop) {
  STRAKE_CHECK_OK(validate(options_));
  while (contend(stop).ok()) {
    if (lead(stop)) return {};
  }
  return {};
}

Status LeaderElector::contend(std::stop_token stop) {
  while (!stop.stop_requested()) {
    const Result<Attempt> attempt = acquire_or_renew(runtime_.call_within(options_.renew_deadline, stop));
    if (stop.stop_requested()) {
      if (attempt.ok() && *attempt == Attempt::kHeld && options_.release_on_stop) release({});
      break;
    }
    if (attempt.ok() && *attempt == Attempt::kHeld) return {};
    // Uneven pauses keep contenders from running into each other again and again.
    const double factor = 1.0 + kContendJitter * runtime_.random().unit();
    const auto pause =
        std::chrono::duration<double, std::nano>(static_cast<double>(options_.retry_period.count()) * factor);
    STRAKE_CHECK_OK(runtime_.sleep(std::chrono::duration_cast<runtime::Duration>(pause), stop));
  }
  std::lock_guard lock(mutex_);
  leading_ = false;
  return error(Code::kCancelled, "stopped while contending");
}

/// Leads until the lease is lost, run() is stopped or the body returns; true for the last.
bool LeaderElector::lead(std::stop_token stop) {
  Leading leading(runtime_);
  leading.body = runtime_.spawn("leading", [this, &leading](std::stop_token body_stop) {
    if (callbacks_.on_started) callbacks_.on_started(std::move(body_stop));
    {
      std::lock_guard lock(leading.mutex);
      leading.body_done = true;
    }
    leading.changed.notify_all();
  });

  bool still_ours = true;
  bool body_returned = false;
  while (true) {
    const runtime::TimePoint lead_until = [this] {
      std::lock_guard lock(mutex_);
      return lead_until_;
    }();
    const auto next_try = std::min(runtime_.now() + options_.retry_period, lead_until);
    body_returned = wait_for(leading, {stop, next_try});
    if (body_returned || stop.stop_requested()) break;
    if (runtime_.now() >= lead_until) {
      still_ours = false;
      break;
    }
    const Result<Attempt> attempt = acquire_or_renew({stop, lead_until});
    if (attempt.ok() && *attempt == Attempt::kHeldByOther) {
      still_ours = false;
      break;
    }
  }
  {
    std::lock_guard lock(mutex_);
    leading_ = false;
  }
  end_body(leading);
  if (still_ours && options_.release_on_stop) release({});
  if (callbacks_.on_stopped) callbacks_.on_stopped();
  return body_returned;
}

/// True when the body has returned.
bool LeaderElector::wait_for(Leading& leading, const Call& call) {
  std::unique_lock lock(leading.mutex);
  return leading.changed.wait(lock, call, [&] { return leading.body_done; }) == runtime::Wake::kReady;
}

void LeaderElector::end_body(Leading& leading) {
  leading.body.request_stop();
  const auto grace = options_.lease_duration - options_.renew_deadline;
  if (!wait_for(leading, runtime_.call_within(grace)) && callbacks_.on_overdue) callbacks_.on_overdue();
  leading.body.stop_and_join();
}

Result<LeaderElector::Attempt> LeaderElector::acquire_or_renew(const Call& call) {
  // From before the request: whoever reads our renewal reads it later than this.
  const runtime::TimePoint sent_at = runtime_.now();
  Result<Attempt> attempt = try_write(call);
  if (!attempt.ok()) {
    unsigned failures = 0;
    bool leading = false;
    {
      std::lock_guard lock(mutex_);
      last_error_ = attempt.error();
      failures = ++failures_;
      leading = leading_;
    }
    if (callbacks_.on_failure && !call.stop.stop_requested()) {
      callbacks_.on_failure({options_.lease, attempt.error(), failures, leading});
    }
    return attempt;
  }
  std::string new_leader;
  bool recovered = false;
  {
    std::lock_guard lock(mutex_);
    last_error_.reset();
    recovered = std::exchange(failures_, 0) > 0;
    leading_ = *attempt == Attempt::kHeld;
    if (leading_) {
      lead_until_ = sent_at + options_.renew_deadline;
      if (leader_ != options_.identity) new_leader = leader_ = options_.identity;
    }
  }
  if (recovered && callbacks_.on_recovered) callbacks_.on_recovered();
  if (!new_leader.empty() && callbacks_.on_new_leader) callbacks_.on_new_leader(new_leader);
  return attempt;
}

Result<LeaderElector::Attempt> LeaderElector::try_write(const Call& call) {
  Result<Object> read = api_.get(core::kLease, options_.lease, call);
  if (!read.ok()) {
    if (read.error().code() != Code::kNotFound) return std::move(read).error().context("reading the lease");
    Object lease(core::kLease, options_.lease);
    write_spec(lease, options_.identity);
    Result<Object> created = api_.create(core::kLease, lease, {}, call);
    if (!created.ok()) {
      if (created.error().code() == Code::kExists) return Attempt::kHeldByOther;
      return std::move(created).error().context("creating the lease");
    }
    observe(*created);
    return Attempt::kHeld;
  }

  observe(*read);
  const std::string holder = read->text({"spec", "holderIdentity"});
  if (!holder.empty() && holder != options_.identity &&
      runtime_.now() < observed_at_ + held_for(*read, options_.lease_duration)) {
    return Attempt::kHeldByOther;
  }
  Object lease = *std::move(read);
  write_spec(lease, options_.identity);
  Result<Object> updated = api_.update(core::kLease, lease, {}, call);
  if (!updated.ok()) {
    // Somebody was quicker. Who, the next attempt reads; until then our own last renewal still counts.
    return std::move(updated).error().context("writing the lease");
  }
  observe(*updated);
  return Attempt::kHeld;
}

void LeaderElector::observe(const Object& lease) {
  const json::Value* spec = json::find(lease.json(), {"spec"});
  std::string text = spec == nullptr ? std::string() : json::write_canonical(*spec);
  if (text != observed_spec_) {
    observed_spec_ = std::move(text);
    observed_at_ = runtime_.now();
  }
  const std::string holder = lease.text({"spec", "holderIdentity"});
  {
    std::lock_guard lock(mutex_);
    if (holder == leader_) return;
    leader_ = holder;
  }
  if (!holder.empty() && callbacks_.on_new_leader) callbacks_.on_new_leader(holder);
}

/// Only the fields of the election; what else the lease carries stays.
void LeaderElector::write_spec(Object& lease, std::string_view holder) const {
  const std::string before = lease.text({"spec", "holderIdentity"});
  const std::string now = format_rfc3339_micros(runtime_.wall_now());
  const bool exists = !lease.resource_version().empty();
  json::Value& spec = json::ensure(lease.json(), {"spec"});
  if (!spec.is_object()) spec = json::Object{};
  json::Object& fields = spec.get_object();
  if (!exists || before != holder) {
    const std::int64_t transitions = json::find_int(spec, {"leaseTransitions"}).value_or(0);
    fields["acquireTime"] = now;
    // Giving up is not a transition; taking over is.
    fields["leaseTransitions"] = exists && !holder.empty() ? transitions + 1 : transitions;
  }
  fields["holderIdentity"] = holder;
  fields["renewTime"] = now;
  fields["leaseDurationSeconds"] =
      holder.empty() ? 1 : std::chrono::ceil<std::chrono::seconds>(options_.lease_duration).count();
}

/// Best effort: without it the next leader waits for the lease to run out.
void LeaderElector::release(std::stop_token stop) {
  const Call call = runtime_.call_within(kReleaseTimeout, std::move(stop));
  Result<Object> read = api_.get(core::kLease, options_.lease, call);
  if (!read.ok() || read->text({"spec", "holderIdentity"}) != options_.identity) return;
  Object lease = *std::move(read);
  write_spec(lease, "");
  const Result<Object> released = api_.update(core::kLease, lease, {}, call);
  if (released.ok()) observe(*released);
}

}  // namespace strake::kube
