// ProgressDisplay: shows on standard error how far long work is. On a terminal one line that is drawn over; elsewhere a
// plain line every few seconds. Short work shows nothing.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "base/runtime.h"
#include "cmd/output/output.h"

namespace strake::cmd {

/// What is known at one moment.
struct ProgressFigures {
  std::uint64_t done_bytes = 0;
  std::uint64_t total_bytes = 0;  ///< of what was announced so far
  std::size_t done_items = 0;
  std::size_t total_items = 0;
  double bytes_per_second = 0;
  std::chrono::seconds quiet{0};  ///< since something moved last
};

/// "[=====>    ] 52%  120 of 230 MB  14 MB/s  8 s left"; while nothing moves, for how long and what is waited for.
std::string progress_bar(const ProgressFigures& figures);
/// The same without a bar.
std::string progress_text(const ProgressFigures& figures);

class ProgressDisplay {
 public:
  /// Both must outlive it.
  ProgressDisplay(Output& output, runtime::Runtime& runtime);
  /// Takes the line away.
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  /// So far this blob or file is. Who reads one twice, or begins again after a broken connection, does not count it
  /// twice. Any thread may call.
  void moved(std::string_view item, std::uint64_t position, std::uint64_t size);

  ProgressFigures figures();

 private:
  struct Item {
    std::uint64_t position = 0;
    std::uint64_t size = 0;
  };
  struct Sample {
    runtime::TimePoint at;
    std::uint64_t bytes = 0;
  };
  void start_locked();
  void show(std::stop_token stop);

  Output& output_;
  runtime::Runtime& runtime_;
  std::mutex mutex_;
  std::map<std::string, Item, std::less<>> items_;
  std::uint64_t done_bytes_ = 0;
  std::uint64_t total_bytes_ = 0;
  std::size_t done_items_ = 0;
  std::deque<Sample> samples_;
  runtime::TimePoint last_moved_;
  bool started_ = false;
  runtime::Task task_;  ///< last: it uses the members above
};

}  // namespace strake::cmd
