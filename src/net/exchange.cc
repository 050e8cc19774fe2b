#include "net/exchange.h"

#include <utility>

namespace strake::net {

namespace {

constexpr std::size_t kSmallAnswerBytes = 256 * 1024;
/// What each stream may have waiting whatever the others have.
constexpr std::size_t kFreeStreamBytes = 64 * 1024;

}  // namespace

void Exchange::wake_locked() {
  if (!wake_ || wake_pending_) return;
  wake_pending_ = true;
  wake_();
}

void Exchange::respond(Response response, std::shared_ptr<const std::string> shared_body) {
  const bool first = respond_unless_answered(std::move(response), std::move(shared_body));
  STRAKE_INVARIANT(first);
}

bool Exchange::reserve_answer(std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  return bytes <= kSmallAnswerBytes || answer_.grow(bytes);
}

void Exchange::count_queue_in(const std::shared_ptr<ByteBudget>& share) {
  const std::scoped_lock lock(mutex_);
  if (answered_) return;
  for (ByteBudget::Hold* hold : {&answer_, &waiting_, &in_flight_}) hold->count_also_in(share);
}

void Exchange::end_connection() {
  const std::scoped_lock lock(mutex_);
  pending_.last = true;
}

bool Exchange::respond_unless_answered(Response response, std::shared_ptr<const std::string> shared_body) {
  const std::scoped_lock lock(mutex_);
  if (answered_) return false;
  answered_ = true;
  ended_ = true;
  pending_.response = std::move(response);
  pending_.shared_body = std::move(shared_body);
  wake_locked();
  return true;
}

bool Exchange::answered() const {
  const std::scoped_lock lock(mutex_);
  return answered_;
}

void Exchange::begin_stream(ResponseHead head, const StreamOptions& options) {
  const std::scoped_lock lock(mutex_);
  STRAKE_INVARIANT(!answered_);
  answered_ = true;
  buffer_limit_ = options.buffer_bytes;
  pending_.stream_head = std::move(head);
  wake_locked();
}

bool Exchange::write(std::string bytes) {
  const std::scoped_lock lock(mutex_);
  if (ended_) return false;
  const std::size_t waiting = pending_.bytes.size() + bytes.size();
  const bool too_much = waiting > buffer_limit_ || (waiting > kFreeStreamBytes && !waiting_.grow(bytes.size()));
  if (too_much) {
    ended_ = true;
    overrun_ = true;
    closed_by_other_side_ = true;
    wake_locked();
    return false;
  }
  if (pending_.bytes.empty()) {
    pending_.bytes = std::move(bytes);
  } else {
    pending_.bytes += bytes;
  }
  wake_locked();
  return true;
}

void Exchange::close() {
  std::function<void()> dropped;  // destroyed without the lock: it may own anything
  const std::scoped_lock lock(mutex_);
  if (ended_) return;
  ended_ = true;
  dropped = std::exchange(on_closed_, nullptr);
  wake_locked();
}

void Exchange::on_closed(std::function<void()> callback) {
  {
    const std::scoped_lock lock(mutex_);
    if (!closed_by_other_side_) {
      if (!ended_) on_closed_ = std::move(callback);
      return;
    }
  }
  callback();
}

Exchange::Output Exchange::take() {
  const std::scoped_lock lock(mutex_);
  wake_pending_ = false;
  Output output = std::exchange(pending_, {});
  in_flight_ = std::move(waiting_);  // what was taken before has left
  output.end = ended_;
  output.overrun = overrun_;
  return output;
}

void Exchange::detach() {
  std::function<void()> callback;
  {
    const std::scoped_lock lock(mutex_);
    wake_ = nullptr;
    if (!ended_) closed_by_other_side_ = true;
    ended_ = true;
    answer_.release();
    in_flight_.release();
    callback = std::exchange(on_closed_, nullptr);
  }
  stop_.request_stop();
  if (callback) callback();
}

void Exchange::finish() {
  const std::scoped_lock lock(mutex_);
  wake_ = nullptr;
  ended_ = true;
  answer_.release();
  waiting_.release();
  in_flight_.release();
}

}  // namespace strake::net
