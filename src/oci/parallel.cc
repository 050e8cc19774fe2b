#include "oci/parallel.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

namespace strake::oci {

Status for_each_in_parallel(runtime::Runtime& runtime, unsigned tasks, std::size_t count, const runtime::Call& call,
                            const std::function<Status(std::size_t, const runtime::Call&)>& work) {
  std::stop_source stop;
  const std::stop_callback forward(call.stop, [&] { stop.request_stop(); });
  const runtime::Call own{stop.get_token(), call.deadline};
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::optional<Error> failure;
  const auto body = [&](std::stop_token) {
    for (;;) {
      const std::size_t i = next.fetch_add(1);
      if (i >= count || stop.stop_requested()) return;
      Status outcome = work(i, own);
      if (outcome.ok()) continue;
      {
        const std::scoped_lock lock(mutex);
        if (!failure) failure = std::move(outcome).error();
      }
      stop.request_stop();
      return;
    }
  };
  std::vector<runtime::Task> running;
  for (unsigned i = 0; i < std::min<std::size_t>(std::max(tasks, 1u), count); ++i) {
    running.push_back(runtime.spawn(fmt::format("worker {}", i), body));
  }
  for (runtime::Task& task : running) task.join();
  if (failure) return *std::move(failure);
  if (call.stop.stop_requested()) return error(Code::kCancelled, "the work was cancelled");
  return {};
}

}  // namespace strake::oci
