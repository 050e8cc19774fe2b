// EventRecorder: tells users, through core/v1 Events, what was done to an object and why.
//
// Best effort: record() never waits and never fails. A task sends; what the server does not take after a few attempts
// is dropped, counted and told to the hooks. The same news about the same object is one Event with a growing count, and
// a single noisy object is held to a budget, so that a loop gone wrong does not flood the cluster.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "base/runtime.h"
#include "kube/hooks.h"
#include "kube/kube_api.h"
#include "net/retry.h"

namespace strake::kube {

struct ObjectReference {
  std::string api_version;
  std::string kind;
  std::string ns;
  std::string name;
  std::string uid;
  std::string resource_version;

  auto operator<=>(const ObjectReference&) const = default;
};
ObjectReference reference_to(const Object& object);

enum class EventType { kNormal, kWarning };
std::string_view to_string(EventType type);

struct EventRecorderOptions {
  std::string component{};                    ///< "strake-rollout"
  std::string instance{};                     ///< node or pod name
  std::string default_namespace = "default";  ///< for events about cluster-scoped objects
  std::size_t queue_limit = 1000;
  std::size_t remembered_events = 4096;
  double burst_per_object = 25;
  runtime::Duration refill_per_object = std::chrono::minutes(5);  ///< one more event each
  unsigned attempts = 3;
  /// After an Event the server did not take, before the next: a server that refuses everything is not asked without
  /// end.
  net::BackoffPolicy refused_backoff{std::chrono::milliseconds(500), 2.0, std::chrono::minutes(1), 0.5};
  Hooks hooks{};
};

class EventRecorder {
 public:
  struct Stats {
    std::uint64_t sent = 0;
    std::uint64_t dropped = 0;  ///< queue full, over budget, or refused by the server
  };

  EventRecorder(runtime::Runtime& runtime, KubeApi& api, EventRecorderOptions options);
  ~EventRecorder();
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  void start();
  void stop();

  void record(const ObjectReference& about, EventType type, std::string reason, std::string message);
  void record(const Object& about, EventType type, std::string reason, std::string message) {
    record(reference_to(about), type, std::move(reason), std::move(message));
  }

  /// Waits until everything recorded so far was sent or dropped: before a program ends.
  Status flush(const Call& call);
  Stats stats() const;

 private:
  /// What makes two events the same news.
  using Sameness = std::tuple<std::string, std::string, std::string, std::string, EventType, std::string, std::string>;
  struct Pending {
    ObjectReference about;
    EventType type;
    std::string reason;
    std::string message;
    runtime::WallTime at;
  };
  struct Remembered {
    ObjectKey event;
    std::int64_t count;
    std::uint64_t last_use;
  };
  struct Budget {
    double tokens;
    runtime::TimePoint refilled;
  };

  void run(std::stop_token stop);
  bool within_budget(const Pending& pending);
  void tell_lost(const Pending& pending, EventLoss loss, const Error* error);
  Status send(const Pending& pending, std::stop_token stop);
  Status send_once(const Pending& pending, std::stop_token stop);
  Result<ObjectKey> create_event(const Pending& pending, const Call& call);
  void remember(const Sameness& sameness, ObjectKey event, std::int64_t count);

  runtime::Runtime& runtime_;
  KubeApi& api_;
  const EventRecorderOptions options_;
  runtime::Queue<Pending> queue_;

  mutable std::mutex mutex_;
  runtime::Condition settled_;
  std::uint64_t unsettled_ = 0;
  Stats stats_;

  std::map<Sameness, Remembered> remembered_;  // these four belong to the task
  std::map<std::uint64_t, Sameness> by_use_;
  std::uint64_t uses_ = 0;
  std::map<std::string, Budget> budgets_;
  runtime::Task task_;  // last: ends before what it uses
};

}  // namespace strake::kube
