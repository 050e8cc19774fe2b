#include "apistore/rest/watch_hub.h"

#include <atomic>
#include <mutex>
#include <unordered_set>

#include "kube/api_error.h"

namespace strake::apistore::rest {

namespace {

constexpr std::size_t kEventsPerTurn = 256;
constexpr std::size_t kBytesPerWrite = 64u << 10;

std::string error_event(const Error& error) {
  return fmt::format("{{\"type\":\"ERROR\",\"object\":{}}}\n", json::write(kube::status_from_error(error).body));
}

}  // namespace

struct WatchHub::Core : std::enable_shared_from_this<WatchHub::Core> {
  explicit Core(runtime::Runtime& given) : runtime(given), due(given) {}

  /// Puts the session in the queue unless it is there; one that is at work goes in again afterwards.
  void schedule(const std::shared_ptr<Session>& session);
  void end_turn(const std::shared_ptr<Session>& session, bool again);
  void forget(const std::shared_ptr<Session>& session) {
    const std::lock_guard lock(mutex);
    sessions.erase(session);
  }

  runtime::Runtime& runtime;
  runtime::Queue<std::shared_ptr<Session>> due;
  mutable std::mutex mutex;
  bool stopped = false;
  std::unordered_set<std::shared_ptr<Session>> sessions;
};

/// One watch and its stream. Only one task at a time takes its turn.
class WatchHub::Session {
 public:
  explicit Session(WatchEncoding encoding) : encoding_(std::move(encoding)) {}

  void start(std::unique_ptr<Watch> watch, std::shared_ptr<net::StreamSink> sink) {
    watch_ = std::move(watch);
    sink_ = std::move(sink);
    note_wake();
  }

  enum class Turn { kAgain, kNothingNow, kOver };
  /// Writes what there is, up to a limit.
  Turn take_turn(runtime::WallTime now) {
    if (over_) return Turn::kOver;
    encoding_.table_options.now = now;
    std::string bytes;
    for (std::size_t events = 0; events < kEventsPerTurn; ++events) {
      Result<Watch::Poll> poll = watch_->try_next();
      if (!poll.ok()) return fail(std::move(bytes), poll.error());
      if (poll->ended) return finish(std::move(bytes));
      if (!poll->event) {
        note_wake();
        return flush(bytes) ? Turn::kNothingNow : Turn::kOver;
      }
      if (Status written = append(bytes, *poll->event); !written.ok()) return fail(std::move(bytes), written.error());
      if (bytes.size() >= kBytesPerWrite && !flush(bytes)) return Turn::kOver;
    }
    return flush(bytes) ? Turn::kAgain : Turn::kOver;
  }

  /// The client left: the next turn is the last.
  void client_left() { over_ = true; }
  runtime::TimePoint wake_at() const { return runtime::TimePoint(runtime::TimePoint::duration(wake_at_.load())); }
  void close() {
    if (sink_) sink_->close();
    watch_.reset();
    encoding_.hold.reset();
  }

 private:
  friend class WatchHub;
  friend struct WatchHub::Core;

  void note_wake() { wake_at_ = watch_->wake_at().time_since_epoch().count(); }

  bool flush(std::string& bytes) {
    if (bytes.empty()) return true;
    return sink_->write(std::exchange(bytes, {}));
  }

  Turn finish(std::string bytes) {
    flush(bytes);
    return Turn::kOver;
  }

  Turn fail(std::string bytes, const Error& error) {
    // A store that closes ends its watches in good order: clients come back.
    if (error.code() != Code::kCancelled) {
      bytes += error_event(error);
    }
    return finish(std::move(bytes));
  }

  Status append(std::string& bytes, const ServiceEvent& event) {
    bytes += fmt::format("{{\"type\":\"{}\",\"object\":", kube::to_string(event.type));
    if (encoding_.table == nullptr && !encoding_.metadata_only) {
      bytes += *event.text;
    } else {
      STRAKE_TRY_CONTEXT(const json::Value object, json::parse(*event.text), "reading a watched object");
      if (encoding_.table != nullptr) {
        bytes += encoding_.table->table_of(object, encoding_.table_options);
        encoding_.table_options.headers = false;
      } else {
        bytes += json::write(partial_metadata(object, encoding_.table_options.meta_version));
      }
    }
    bytes += "}\n";
    return {};
  }

  WatchEncoding encoding_;
  std::unique_ptr<Watch> watch_;
  std::shared_ptr<net::StreamSink> sink_;
  std::atomic<runtime::TimePoint::rep> wake_at_ = runtime::TimePoint::max().time_since_epoch().count();
  std::atomic<bool> over_ = false;

  enum class State { kStarting, kIdle, kQueued, kAtWork, kAtWorkAndDue };
  std::mutex mutex_;
  State state_ = State::kStarting;
};

void WatchHub::Core::schedule(const std::shared_ptr<Session>& session) {
  using State = Session::State;
  {
    const std::lock_guard lock(session->mutex_);
    switch (session->state_) {
      case State::kStarting:  // its first turn comes in any case
      case State::kQueued:
      case State::kAtWorkAndDue: return;
      case State::kAtWork: session->state_ = State::kAtWorkAndDue; return;
      case State::kIdle: session->state_ = State::kQueued; break;
    }
  }
  due.push(session);
}

void WatchHub::Core::end_turn(const std::shared_ptr<Session>& session, bool again) {
  using State = Session::State;
  {
    const std::lock_guard lock(session->mutex_);
    again = again || session->state_ == State::kAtWorkAndDue;
    session->state_ = again ? State::kQueued : State::kIdle;
  }
  if (again) due.push(session);
}

WatchHub::WatchHub(runtime::Runtime& runtime, WatchHubOptions options)
    : options_(options), core_(std::make_shared<Core>(runtime)) {
  for (unsigned i = 0; i < options_.tasks; ++i) {
    tasks_.push_back(
        runtime.spawn(fmt::format("watch-{}", i), [core = core_](std::stop_token stop) { run(*core, stop); }));
  }
  tasks_.push_back(runtime.spawn(
      "watch-clock", [core = core_, tick = options_.tick](std::stop_token stop) { keep_time(*core, tick, stop); }));
}

WatchHub::~WatchHub() { stop(); }

void WatchHub::stop() {
  {
    const std::lock_guard lock(core_->mutex);
    core_->stopped = true;
  }
  core_->due.close();
  for (runtime::Task& task : tasks_) task.request_stop();
  tasks_.clear();
  std::unordered_set<std::shared_ptr<Session>> left;
  {
    const std::lock_guard lock(core_->mutex);
    left.swap(core_->sessions);
  }
  for (const auto& session : left) session->close();
  // What the queue still holds are sessions of that set; without their watches they keep nothing of the store alive.
}

std::size_t WatchHub::open_watches() const {
  const std::lock_guard lock(core_->mutex);
  return core_->sessions.size();
}

Status WatchHub::serve(const Open& open, WatchEncoding encoding, const net::ResponseHead& head,
                       const net::Responder& responder) {
  auto session = std::make_shared<Session>(std::move(encoding));
  const std::weak_ptr<Session> weak_session = session;
  const std::weak_ptr<Core> weak_core = core_;
  const auto wake = [weak_core, weak_session] {
    const auto core = weak_core.lock();
    const auto woken = weak_session.lock();
    if (core && woken) core->schedule(woken);
  };
  Result<std::unique_ptr<Watch>> opened = open(wake);
  if (!opened.ok() && opened.error().code() == Code::kExpired) {
    // As kube-apiserver: what is wrong with the place to begin at is said inside the stream.
    const auto sink = responder.stream(head, {.buffer_bytes = options_.buffer_bytes});
    sink->write(error_event(opened.error()));
    sink->close();
    return {};
  }
  STRAKE_TRY(std::unique_ptr<Watch> watch, std::move(opened));
  {
    const std::lock_guard lock(core_->mutex);
    if (core_->stopped) return error(Code::kUnavailable, "the server is stopping").with_reason("ServiceUnavailable");
    const auto sink = responder.stream(head, {.buffer_bytes = options_.buffer_bytes});
    session->start(std::move(watch), sink);
    core_->sessions.insert(session);
    sink->on_closed([weak_session, wake] {
      if (const auto left = weak_session.lock()) left->client_left();
      wake();
    });
  }
  core_->end_turn(session, true);
  return {};
}

void WatchHub::run(Core& core, const std::stop_token& stop) {
  while (true) {
    Result<std::shared_ptr<Session>> next = core.due.pop({stop, std::nullopt});
    if (!next.ok()) return;
    const std::shared_ptr<Session> session = *std::move(next);
    {
      const std::lock_guard lock(session->mutex_);
      session->state_ = Session::State::kAtWork;
    }
    const Session::Turn turn = session->take_turn(core.runtime.wall_now());
    if (turn == Session::Turn::kOver) {
      session->close();
      core.forget(session);
      continue;  // stays "at work": nobody queues it again
    }
    core.end_turn(session, turn == Session::Turn::kAgain);
  }
}

void WatchHub::keep_time(Core& core, runtime::Duration tick, const std::stop_token& stop) {
  while (core.runtime.sleep(tick, stop).ok()) {
    const runtime::TimePoint now = core.runtime.now();
    std::vector<std::shared_ptr<Session>> awake;
    {
      const std::lock_guard lock(core.mutex);
      for (const auto& session : core.sessions) {
        if (session->wake_at() <= now) awake.push_back(session);
      }
    }
    for (const auto& session : awake) core.schedule(session);
  }
}

}  // namespace strake::apistore::rest
