#include "kube/https_watch.h"

#include <deque>

#include "kube/api_error.h"

namespace strake::kube {

namespace {

constexpr std::size_t kMaxRefusalBytes = 64u << 10;

/// What the reading task and the caller share.
class HttpsWatch final : public WatchStream {
 public:
  HttpsWatch(std::shared_ptr<HttpsTransport> transport, HttpsTransport::Prepared prepared,
             std::chrono::milliseconds idle_timeout)
      : transport_(std::move(transport)),
        prepared_(std::move(prepared)),
        idle_timeout_(idle_timeout),
        changed_(transport_->runtime()),
        lines_(transport_->options().max_watch_line_bytes) {
    task_ = transport_->runtime().spawn("watch", [this](std::stop_token stop) { read(std::move(stop)); });
  }
  ~HttpsWatch() override { task_.stop_and_join(); }

  /// Waits for the server's first word. `reached` tells a refusal from a failed connection.
  Status wait_open(const Call& call, bool& reached) {
    std::unique_lock lock(mutex_);
    const runtime::Wake wake = changed_.wait(lock, call, [this] { return open_ || ended_; });
    if (wake != runtime::Wake::kReady) return wake_error(wake, "a watch to open");
    reached = reached_;
    if (open_) return {};
    return end_error_ ? *end_error_ : error(Code::kUnavailable, "the server ended the watch before it began");
  }

  Result<std::optional<WatchEvent>> next(const Call& call) override {
    std::optional<WatchEvent> event;
    {
      std::unique_lock lock(mutex_);
      const runtime::Wake wake = changed_.wait(lock, call, [this] { return !events_.empty() || ended_; });
      if (wake != runtime::Wake::kReady) return wake_error(wake, "the next event of a watch");
      if (events_.empty()) {
        if (end_error_) return *end_error_;
        return event;
      }
      event = std::move(events_.front());
      events_.pop_front();
    }
    changed_.notify_all();
    return event;
  }

 private:
  void read(std::stop_token stop) {
    net::CallOptions options;
    options.idle_timeout = idle_timeout_;
    options.stop = stop;
    int status = 0;
    net::Headers headers;
    std::string refusal;
    const Result<net::ResponseHead> ended = prepared_.client->stream(
        prepared_.request,
        [&](const net::ResponseHead& head) -> Status {
          status = head.status;
          headers = head.headers;
          std::lock_guard lock(mutex_);
          reached_ = true;
          open_ = status == 200;
          changed_.notify_all();
          return {};
        },
        [&](std::string_view piece) -> Status {
          if (status != 200) {
            refusal.append(piece.substr(0, kMaxRefusalBytes - std::min(refusal.size(), kMaxRefusalBytes)));
            return {};
          }
          return lines_.feed(piece, [&](std::string_view line) { return push(line, stop); });
        },
        options);
    std::lock_guard lock(mutex_);
    ended_ = true;
    if (!ended.ok()) {
      end_error_ = ended.error();
    } else if (status != 200) {
      end_error_ = error_from_answer(status, headers, refusal, transport_->runtime().wall_now());
    } else if (lines_.inside_line()) {
      end_error_ = error(Code::kUnavailable, "the watch ended in the middle of an event");
    }
    changed_.notify_all();
  }

  Status push(std::string_view line, std::stop_token stop) {
    if (line.find_first_not_of(" \r\t") == std::string_view::npos) return {};
    STRAKE_TRY(WatchEvent event, parse_watch_line(line));
    std::unique_lock lock(mutex_);
    const runtime::Wake wake = changed_.wait(
        lock, {std::move(stop), {}}, [this] { return events_.size() < transport_->options().watch_buffer_events; });
    if (wake != runtime::Wake::kReady) return wake_error(wake, "room for an event");
    events_.push_back(std::move(event));
    lock.unlock();
    changed_.notify_all();
    return {};
  }

  const std::shared_ptr<HttpsTransport> transport_;
  const HttpsTransport::Prepared prepared_;
  const std::chrono::milliseconds idle_timeout_;

  std::mutex mutex_;
  runtime::Condition changed_;
  std::deque<WatchEvent> events_;
  bool reached_ = false;
  bool open_ = false;
  bool ended_ = false;
  std::optional<Error> end_error_;

  LineSplitter lines_;  ///< the task's own
  runtime::Task task_;  // last: ends before what it uses
};

}  // namespace

Status LineSplitter::feed(std::string_view piece, const std::function<Status(std::string_view)>& on_line) {
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    const std::size_t length = std::min(end, piece.size());
    if (partial_.size() + length > max_line_bytes_) {
      return error(Code::kExhausted, "an event of the watch is longer than {} bytes", max_line_bytes_);
    }
    if (end == std::string_view::npos) {
      partial_ += piece;
      return {};
    }
    if (partial_.empty()) {
      STRAKE_CHECK_OK(on_line(piece.substr(0, end)));
    } else {
      partial_ += piece.substr(0, end);
      const std::string line = std::exchange(partial_, {});
      STRAKE_CHECK_OK(on_line(line));
    }
    piece.remove_prefix(end + 1);
  }
  return {};
}

Result<WatchEvent> parse_watch_line(std::string_view line) {
  STRAKE_TRY_CONTEXT(json::Value value, json::parse(line), "an event of the watch");
  const std::string type = json::find_string(value, {"type"}).value_or("");
  json::Value* object = json::find(value, {"object"});
  if (object == nullptr || !object->is_object()) return error(Code::kCorrupt, "an event of the watch has no object");
  if (type == "ERROR") return error_from_status(0, *object);
  STRAKE_TRY(const WatchType parsed, parse_watch_type(type));
  return WatchEvent{parsed, Object(std::move(*object))};
}

Result<std::unique_ptr<WatchStream>> open_https_watch(std::shared_ptr<HttpsTransport> transport,
                                                      const ApiRequest& request, std::chrono::milliseconds idle_timeout,
                                                      const Call& call) {
  unsigned tries = 0;
  unsigned logins = 0;
  Call until = call;
  if (!until.deadline) until.deadline = transport->runtime().now() + transport->options().request_timeout;
  while (true) {
    STRAKE_TRY(HttpsTransport::Prepared prepared, transport->prepare(request, until));
    const Credentials credentials = prepared.credentials;
    auto stream = std::make_unique<HttpsWatch>(transport, std::move(prepared), idle_timeout);
    bool reached = false;
    const Status opened = stream->wait_open(until, reached);
    if (opened.ok()) return std::unique_ptr<WatchStream>(std::move(stream));
    ++tries;
    if (transport->retry_login(opened.error(), credentials, logins)) {
      ++logins;
    } else if (!transport->retry_read(opened.error(), reached, tries, until)) {
      return opened.error();
    }
  }
}

}  // namespace strake::kube
