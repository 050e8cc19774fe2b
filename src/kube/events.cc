#include "kube/events.h"

#include <algorithm>

#include "base/secrets.h"
#include "base/text.h"
#include "base/time.h"
#include "net/retry.h"

namespace strake::kube {

namespace {

constexpr std::size_t kMaxEventMessageBytes = 1024;  // the API's limit
constexpr std::size_t kMaxEventReasonBytes = 125;
constexpr std::size_t kMaxEventNamePrefixBytes = 230;
constexpr std::size_t kMaxBudgets = 10'000;
constexpr std::chrono::seconds kEventSendTimeout{10};

}  // namespace

std::string_view to_string(EventType type) {
  switch (type) {
    case EventType::kNormal: return "Normal";
    case EventType::kWarning: return "Warning";
  }
  return "Normal";
}

std::string_view to_string(EventLoss loss) {
  switch (loss) {
    case EventLoss::kQueueFull: return "queue full";
    case EventLoss::kOverBudget: return "over budget";
    case EventLoss::kRefused: return "refused";
  }
  return "refused";
}

ObjectReference reference_to(const Object& object) {
  return {object.api_version(), object.kind(), object.ns(), object.name(), object.uid(), object.resource_version()};
}

EventRecorder::EventRecorder(runtime::Runtime& runtime, KubeApi& api, EventRecorderOptions options)
    : runtime_(runtime), api_(api), options_(std::move(options)), queue_(runtime), settled_(runtime) {}

EventRecorder::~EventRecorder() { stop(); }

void EventRecorder::start() {
  task_ = runtime_.spawn("events", [this](std::stop_token stop) { run(std::move(stop)); });
}

void EventRecorder::stop() {
  queue_.close();
  task_.stop_and_join();
}

void EventRecorder::record(const ObjectReference& about, EventType type, std::string reason, std::string message) {
  Pending pending{about, type, clip_utf8(reason, kMaxEventReasonBytes), public_text(message, kMaxEventMessageBytes),
                  runtime_.wall_now()};
  bool full = false;
  {
    std::lock_guard lock(mutex_);
    full = unsettled_ >= options_.queue_limit;
    if (!full) ++unsettled_;
  }
  if (full) {
    tell_lost(pending, EventLoss::kQueueFull, nullptr);
    return;
  }
  if (queue_.push(std::move(pending))) return;
  std::lock_guard lock(mutex_);  // closed: the program ends
  --unsettled_;
  ++stats_.dropped;
}

void EventRecorder::tell_lost(const Pending& pending, EventLoss loss, const Error* error) {
  {
    std::lock_guard lock(mutex_);
    ++stats_.dropped;
  }
  if (!options_.hooks.on_event_lost) return;
  options_.hooks.on_event_lost({loss, pending.about.kind, pending.about.name, pending.reason, pending.message, error});
}

Status EventRecorder::flush(const Call& call) {
  std::unique_lock lock(mutex_);
  const runtime::Wake wake = settled_.wait(lock, call, [this] { return unsettled_ == 0; });
  if (wake != runtime::Wake::kReady) return wake_error(wake, fmt::format("{} events to be sent", unsettled_));
  return {};
}

EventRecorder::Stats EventRecorder::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

void EventRecorder::run(std::stop_token stop) {
  unsigned refused = 0;
  while (true) {
    const Result<Pending> pending = queue_.pop({stop, {}});
    if (!pending.ok()) return;
    const bool affordable = within_budget(*pending);
    Status sent;
    if (affordable) {
      sent = send(*pending, stop);
      refused = sent.ok() ? 0 : refused + 1;
    }
    if (!affordable) tell_lost(*pending, EventLoss::kOverBudget, nullptr);
    if (!sent.ok() && !stop.stop_requested()) tell_lost(*pending, EventLoss::kRefused, &sent.error());
    {
      std::lock_guard lock(mutex_);
      --unsettled_;
      if (affordable && sent.ok()) ++stats_.sent;
    }
    settled_.notify_all();
    if (sent.ok() || !affordable) continue;
    const auto pause = options_.refused_backoff.delay(refused, runtime_.random().unit(), sent.error());
    if (!runtime_.sleep(pause, stop).ok()) return;
  }
}

bool EventRecorder::within_budget(const Pending& pending) {
  const auto now = runtime_.now();
  if (budgets_.size() >= kMaxBudgets) {
    std::erase_if(budgets_,
                  [&](const auto& entry) { return now - entry.second.refilled > options_.refill_per_object; });
    if (budgets_.size() >= kMaxBudgets) budgets_.clear();
  }
  const std::string about =
      fmt::format("{}/{}/{}/{}", pending.about.kind, pending.about.ns, pending.about.name, pending.about.uid);
  Budget& budget = budgets_.try_emplace(about, Budget{options_.burst_per_object, now}).first->second;
  const double refilled =
      std::chrono::duration<double>(now - budget.refilled) / std::chrono::duration<double>(options_.refill_per_object);
  budget.tokens = std::min(options_.burst_per_object, budget.tokens + refilled);
  budget.refilled = now;
  if (budget.tokens < 1) return false;
  budget.tokens -= 1;
  return true;
}

Status EventRecorder::send(const Pending& pending, std::stop_token stop) {
  const net::BackoffPolicy backoff;
  for (unsigned attempt = 1;; ++attempt) {
    Status sent = send_once(pending, stop);
    if (sent.ok() || attempt >= options_.attempts || !net::is_retryable(sent.error())) return sent;
    STRAKE_CHECK_OK(runtime_.sleep(backoff.delay(attempt, runtime_.random().unit(), sent.error()), stop));
  }
}

Status EventRecorder::send_once(const Pending& pending, std::stop_token stop) {
  const Call call = runtime_.call_within(kEventSendTimeout, std::move(stop));
  const Sameness sameness{pending.about.kind, pending.about.ns, pending.about.name, pending.about.uid,
                          pending.type,       pending.reason,   pending.message};
  if (const auto known = remembered_.find(sameness); known != remembered_.end()) {
    const std::int64_t count = known->second.count + 1;
    const ObjectKey event = known->second.event;
    const json::Value patch = json::Object{{"count", count}, {"lastTimestamp", format_rfc3339(pending.at)}};
    const Result<Object> patched = api_.patch(core::kEvent, event, PatchType::kMerge, patch, {}, call);
    if (patched.ok()) {
      remember(sameness, event, count);
      return {};
    }
    // Events live for an hour or so at the server; after that the news starts over.
    if (patched.error().code() != Code::kNotFound) return patched.error();
  }
  STRAKE_TRY(ObjectKey event, create_event(pending, call));
  remember(sameness, std::move(event), 1);
  return {};
}

Result<ObjectKey> EventRecorder::create_event(const Pending& pending, const Call& call) {
  const ObjectReference& about = pending.about;
  const std::string prefix = about.name.substr(0, kMaxEventNamePrefixBytes);
  const ObjectKey key{about.ns.empty() ? options_.default_namespace : about.ns,
                      fmt::format("{}.{:016x}", prefix, runtime_.random().next())};
  Object event(core::kEvent, key);
  json::Object& root = event.json().get_object();
  root["involvedObject"] = json::Object{{"apiVersion", about.api_version},
                                        {"kind", about.kind},
                                        {"namespace", about.ns},
                                        {"name", about.name},
                                        {"uid", about.uid},
                                        {"resourceVersion", about.resource_version}};
  root["type"] = to_string(pending.type);
  root["reason"] = pending.reason;
  root["message"] = pending.message;
  root["source"] = json::Object{{"component", options_.component}, {"host", options_.instance}};
  root["reportingComponent"] = options_.component;
  root["reportingInstance"] = options_.instance;
  root["firstTimestamp"] = format_rfc3339(pending.at);
  root["lastTimestamp"] = format_rfc3339(pending.at);
  root["count"] = 1;
  const Result<Object> created = api_.create(core::kEvent, event, {}, call);
  if (!created.ok()) return created.error();
  return key;
}

void EventRecorder::remember(const Sameness& sameness, ObjectKey event, std::int64_t count) {
  const std::uint64_t use = ++uses_;
  auto [entry, is_new] = remembered_.try_emplace(sameness, Remembered{});
  if (!is_new) by_use_.erase(entry->second.last_use);
  entry->second = {std::move(event), count, use};
  by_use_.emplace(use, sameness);
  if (remembered_.size() > options_.remembered_events) {
    remembered_.erase(by_use_.begin()->second);
    by_use_.erase(by_use_.begin());
  }
}

}  // namespace strake::kube
