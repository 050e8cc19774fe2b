#include "cmd/output/progress_display.h"

#include <algorithm>

#include "base/text.h"

namespace strake::cmd {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kBarCells = 24;
/// The rate is that of the last moments: what came before says little about what is left.
constexpr auto kRateWindow = 15s;
constexpr auto kRedraw = 250ms;
constexpr auto kFirstShown = 1s;
constexpr auto kPlainLineEvery = 5s;
/// So long may nothing move before it is said.
constexpr auto kQuiet = 10s;
constexpr std::size_t kMaxProgressItems = 100'000;

std::string seconds_text(std::uint64_t seconds) {
  if (seconds < 100) return fmt::format("{} s", seconds);
  if (seconds < 100 * 60) return fmt::format("{} min", (seconds + 30) / 60);
  return fmt::format("{} h", (seconds + 1800) / 3600);
}

std::string amounts(const ProgressFigures& figures) {
  std::string text = figures.total_items > 1 ? fmt::format("{} of {}, ", figures.done_items, figures.total_items) : "";
  text += fmt::format("{} of {}", human_bytes(figures.done_bytes), human_bytes(figures.total_bytes));
  if (figures.quiet >= kQuiet) {
    return text + fmt::format(", nothing has come for {} s", figures.quiet.count());
  }
  if (figures.bytes_per_second < 1) return text;
  text += fmt::format(", {}/s", human_bytes(static_cast<std::uint64_t>(figures.bytes_per_second)));
  if (figures.done_bytes < figures.total_bytes) {
    const auto left = static_cast<double>(figures.total_bytes - figures.done_bytes) / figures.bytes_per_second;
    text += fmt::format(", {} left", seconds_text(static_cast<std::uint64_t>(left) + 1));
  }
  return text;
}

}  // namespace

std::string progress_text(const ProgressFigures& figures) {
  if (figures.total_bytes == 0) return "working";
  return fmt::format("{}%  {}", figures.done_bytes * 100 / figures.total_bytes, amounts(figures));
}

std::string progress_bar(const ProgressFigures& figures) {
  if (figures.total_bytes == 0) return progress_text(figures);
  const std::size_t full = static_cast<std::size_t>(figures.done_bytes * kBarCells / figures.total_bytes);
  std::string bar(std::min(full, kBarCells), '=');
  if (bar.size() < kBarCells) bar += '>';
  bar.resize(kBarCells, ' ');
  return fmt::format("[{}] {}", bar, progress_text(figures));
}

ProgressDisplay::ProgressDisplay(Output& output, runtime::Runtime& runtime)
    : output_(output), runtime_(runtime), last_moved_(runtime.now()) {}

ProgressDisplay::~ProgressDisplay() {
  task_.stop_and_join();
  output_.status("");
}

/// Only once there is something to tell: most commands are over before anybody wonders.
void ProgressDisplay::start_locked() {
  if (started_) return;
  started_ = true;
  last_moved_ = runtime_.now();
  task_ = runtime_.spawn("progress", [this](std::stop_token stop) { show(std::move(stop)); });
}

void ProgressDisplay::moved(std::string_view item, std::uint64_t position, std::uint64_t size) {
  const std::scoped_lock lock(mutex_);
  start_locked();
  last_moved_ = runtime_.now();
  auto found = items_.find(item);
  if (found == items_.end()) {
    if (items_.size() >= kMaxProgressItems) return;
    found = items_.emplace(item, Item{0, size}).first;
    total_bytes_ += size;
  }
  Item& known = found->second;
  position = std::min(position, known.size);
  if (position <= known.position) return;
  done_bytes_ += position - known.position;
  known.position = position;
  if (position == known.size) ++done_items_;
}

ProgressFigures ProgressDisplay::figures() {
  const std::scoped_lock lock(mutex_);
  const runtime::TimePoint now = runtime_.now();
  samples_.push_back({now, done_bytes_});
  while (samples_.size() > 2 && now - samples_.front().at > kRateWindow) samples_.pop_front();
  const std::chrono::duration<double> span = now - samples_.front().at;
  ProgressFigures figures{.done_bytes = done_bytes_,
                          .total_bytes = total_bytes_,
                          .done_items = done_items_,
                          .total_items = items_.size(),
                          .quiet = std::chrono::floor<std::chrono::seconds>(now - last_moved_)};
  if (span.count() > 0) {
    figures.bytes_per_second = static_cast<double>(done_bytes_ - samples_.front().bytes) / span.count();
  }
  return figures;
}

void ProgressDisplay::show(std::stop_token stop) {
  const bool draws = output_.can_draw_status();
  figures();  // the first sample of the rate
  if (!runtime_.sleep(draws ? runtime::Duration(kFirstShown) : runtime::Duration(kPlainLineEvery), stop).ok()) return;
  for (;;) {
    const ProgressFigures now = figures();
    if (draws) {
      output_.status(progress_bar(now));
    } else {
      output_.progress(progress_text(now));
    }
    if (!runtime_.sleep(draws ? runtime::Duration(kRedraw) : runtime::Duration(kPlainLineEvery), stop).ok()) return;
  }
}

}  // namespace strake::cmd
