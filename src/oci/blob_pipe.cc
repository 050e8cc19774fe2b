#include "oci/blob_pipe.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>

namespace strake::oci {

namespace {

class PipeSource final : public codec::Source {
 public:
  PipeSource(runtime::Runtime& runtime, std::string name, ProduceBytes produce, const runtime::Call& call,
             std::size_t buffer_bytes)
      : call_(call), buffer_bytes_(buffer_bytes), changed_(runtime) {
    task_ = runtime.spawn(std::move(name), [this, produce = std::move(produce)](std::stop_token stop) {
      const runtime::Call own{std::move(stop), call_.deadline};
      Status outcome = produce([&](std::string_view data) { return put(data, own); }, own);
      {
        const std::scoped_lock lock(mutex_);
        outcome_ = std::move(outcome);
      }
      changed_.notify_all();
    });
  }

  // The task uses the members below: it must end first.
  ~PipeSource() override { task_.stop_and_join(); }

  Result<std::size_t> read(std::span<std::byte> into) override {
    std::unique_lock lock(mutex_);
    const runtime::Wake wake = changed_.wait(lock, call_, [this] { return !pieces_.empty() || outcome_.has_value(); });
    if (wake != runtime::Wake::kReady) return runtime::wake_error(wake, "the next bytes of a blob");
    if (pieces_.empty()) {
      if (!outcome_->ok()) return outcome_->error();
      return std::size_t{0};
    }
    const std::string& piece = pieces_.front();
    const std::size_t size = std::min(into.size(), piece.size() - taken_);
    std::memcpy(into.data(), piece.data() + taken_, size);
    taken_ += size;
    held_ -= size;
    if (taken_ == piece.size()) {
      pieces_.pop_front();
      taken_ = 0;
    }
    lock.unlock();
    changed_.notify_all();
    return size;
  }

 private:
  Status put(std::string_view data, const runtime::Call& call) {
    if (data.empty()) return {};
    std::unique_lock lock(mutex_);
    const runtime::Wake wake = changed_.wait(lock, call, [this] { return held_ < buffer_bytes_; });
    if (wake != runtime::Wake::kReady) return runtime::wake_error(wake, "a reader of the blob");
    pieces_.emplace_back(data);
    held_ += data.size();
    lock.unlock();
    changed_.notify_all();
    return {};
  }

  const runtime::Call call_;
  const std::size_t buffer_bytes_;
  std::mutex mutex_;
  runtime::Condition changed_;
  std::deque<std::string> pieces_;
  std::size_t taken_ = 0;  ///< of the first piece
  std::size_t held_ = 0;
  std::optional<Status> outcome_;
  runtime::Task task_;
};

}  // namespace

std::unique_ptr<codec::Source> make_pipe(runtime::Runtime& runtime, std::string name, ProduceBytes produce,
                                         const runtime::Call& call, std::size_t buffer_bytes) {
  return std::make_unique<PipeSource>(runtime, std::move(name), std::move(produce), call, buffer_bytes);
}

}  // namespace strake::oci
