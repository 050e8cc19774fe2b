// Exchange: the meeting point of one request's handler (any thread) and its connection (an io thread). Private to this
// module.
//
// The handler's side puts in an answer or the pieces of a stream; the connection's side is woken and takes them out.
// detach() ends the meeting: from then on the handler's side writes into nothing and wakes nobody, so it may outlive
// the server.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "net/byte_budget.h"
#include "net/http_server.h"

namespace strake::net {

class Exchange : public StreamSink {
 public:
  /// `wake` must not run the connection's code in the calling thread: it is called with the lock held.
  /// `queue` counts what waits for clients; without one nothing is counted.
  explicit Exchange(std::function<void()> wake, std::shared_ptr<ByteBudget> queue = nullptr)
      : wake_(std::move(wake)), answer_(queue), waiting_(queue), in_flight_(queue) {}

  // The handler's side.
  /// Room for an answer of this size. Small ones always have it: whoever asks little is answered under any load.
  bool reserve_answer(std::size_t bytes);
  /// What waits for the client counts there too. To be called before there is an answer.
  void count_queue_in(const std::shared_ptr<ByteBudget>& share);
  /// The connection ends after the answer.
  void end_connection();
  /// A shared body stands for the response's own.
  void respond(Response response, std::shared_ptr<const std::string> shared_body = nullptr);
  /// Only the first answer counts; true when this was it.
  bool respond_unless_answered(Response response, std::shared_ptr<const std::string> shared_body = nullptr);
  bool answered() const;
  void begin_stream(ResponseHead head, const StreamOptions& options);
  bool write(std::string bytes) override;
  void close() override;
  void on_closed(std::function<void()> callback) override;
  std::stop_token stop_token() const { return stop_.get_token(); }

  // The connection's side.
  struct Output {
    std::optional<Response> response;
    std::shared_ptr<const std::string> shared_body;  ///< of the response, instead of its own
    std::optional<ResponseHead> stream_head;
    std::string bytes;
    bool end = false;      ///< of the stream, after `bytes`
    bool last = false;     ///< after this response the connection ends
    bool overrun = false;  ///< the client was too slow: cut the connection
  };
  Output take();
  /// The client is gone, or the server stops. What is buffered can still be taken.
  void detach();
  /// The answer went out whole.
  void finish();

 private:
  void wake_locked();

  mutable std::mutex mutex_;
  std::function<void()> wake_;
  bool wake_pending_ = false;
  bool answered_ = false;
  bool ended_ = false;  ///< no further bytes are accepted
  bool overrun_ = false;
  std::size_t buffer_limit_ = 0;
  Output pending_;
  std::function<void()> on_closed_;
  bool closed_by_other_side_ = false;
  std::stop_source stop_;
  ByteBudget::Hold answer_;
  ByteBudget::Hold waiting_;    ///< of a stream, not yet taken
  ByteBudget::Hold in_flight_;  ///< of a stream, taken last
};

}  // namespace strake::net
