#include "apistore/guard/audit_log.h"

#include <atomic>
#include <map>
#include <mutex>

namespace strake::apistore {

namespace {

/// Of "192.0.2.7:40312" the part that names the machine: a port is a new one with every connection.
std::string host_of(const std::string& source) { return source.substr(0, source.rfind(':')); }

/// What requests that are summed up together have in common.
std::string audit_class(const AuditRecord& record) {
  const std::string who = record.user.empty() ? "at " + host_of(record.source) : "user " + record.user;
  return record.is_refusal() ? fmt::format("{} {}", record.code, who) : "read " + who;
}

constexpr const char* kEverybodyElse = "";

}  // namespace

struct AuditLog::Impl {
  Impl(runtime::Runtime& given, AuditOptions wanted)
      : runtime(given),
        options(std::move(wanted)),
        file(options.file, options.limits),
        run_name(fmt::format("{:08x}", given.random().next() & 0xffffffffU)),
        refusals(options.refusals, options.max_names),
        reads(options.reads, options.max_names),
        changed(given) {}

  void write_until_stopped(const std::stop_token& stop);
  void write(std::string lines, std::uint64_t count, const std::stop_token& stop);
  void sum_up_locked(runtime::TimePoint now);
  /// True when the request is only counted.
  bool hold_back_locked(AuditRecord& record, runtime::TimePoint now);
  void enqueue_locked(std::string_view line);

  runtime::Runtime& runtime;
  const AuditOptions options;
  AuditFile file;  ///< of the writer's task
  const std::string run_name;
  std::atomic<std::uint64_t> next_id = 1;

  mutable std::mutex mutex;
  RateLimiter refusals;
  RateLimiter reads;
  runtime::Condition changed;
  std::string waiting;
  std::uint64_t waiting_lines = 0;
  std::map<std::string, AuditRecord> held_back;  ///< the first of each class, and how many followed
  runtime::TimePoint next_summary{};
  std::uint64_t untold_losses = 0;
  bool stopped = false;
  Stats stats;
  runtime::Task writer;
};

void AuditLog::Impl::enqueue_locked(std::string_view line) {
  if (stopped || waiting.size() + line.size() > options.queue_bytes) {
    ++stats.lost;
    ++untold_losses;
    return;
  }
  waiting += line;
  ++waiting_lines;
}

bool AuditLog::Impl::hold_back_locked(AuditRecord& record, runtime::TimePoint now) {
  RateLimiter& rate = record.is_refusal() ? refusals : reads;
  std::string key = audit_class(record);
  if (rate.take(key, 1, now) <= runtime::Duration(0)) return false;
  if (held_back.size() >= options.max_names && !held_back.contains(key)) {
    // More users and addresses than can be told apart: one sum for all of them.
    key = kEverybodyElse;
    AuditRecord anybody;
    anybody.time = record.time;
    anybody.code = record.code;
    record = std::move(anybody);
  }
  const auto [place, is_first] = held_back.try_emplace(std::move(key), std::move(record));
  ++place->second.more;
  ++stats.summed_up;
  return true;
}

void AuditLog::Impl::sum_up_locked(runtime::TimePoint now) {
  next_summary = now + options.summary_interval;
  for (const auto& [key, record] : held_back) enqueue_locked(audit_line(record));
  held_back.clear();
}

void AuditLog::Impl::write_until_stopped(const std::stop_token& stop) {
  while (true) {
    std::string lines;
    std::uint64_t count = 0;
    bool ends = false;
    {
      std::unique_lock lock(mutex);
      (void)changed.wait(lock, {stop, next_summary}, [this] { return !waiting.empty(); });
      ends = stop.stop_requested();
      if (const runtime::TimePoint now = runtime.now(); ends || now >= next_summary) sum_up_locked(now);
      lines.swap(waiting);
      count = std::exchange(waiting_lines, 0);
      if (ends) stopped = true;
    }
    if (!lines.empty()) write(std::move(lines), count, stop);
    if (ends) return;
  }
}

void AuditLog::Impl::write(std::string lines, std::uint64_t count, const std::stop_token& stop) {
  std::uint64_t told = 0;
  {
    const std::lock_guard lock(mutex);
    told = untold_losses;
  }
  if (told > 0) lines += audit_loss_line(runtime.wall_now(), told);
  const Status written = file.append(lines);
  {
    const std::lock_guard lock(mutex);
    if (written.ok()) {
      stats.written += count;
      untold_losses -= told;
    } else {
      stats.lost += count;
      untold_losses += count;
    }
  }
  if (written.ok()) {
    (void)runtime.sleep(options.gather_time, stop);
    return;
  }
  if (options.on_problem) {
    options.on_problem(Error(written.error()).context(fmt::format("the audit log lost {} lines", count)));
  }
  // Requests go on; what the queue can hold meanwhile is not lost.
  (void)runtime.sleep(options.retry_interval, stop);
}

AuditLog::AuditLog(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AuditLog::~AuditLog() { stop(); }

Result<std::unique_ptr<AuditLog>> AuditLog::open(runtime::Runtime& runtime, AuditOptions options) {
  auto impl = std::make_unique<Impl>(runtime, std::move(options));
  STRAKE_CHECK_OK(impl->file.open());
  impl->next_summary = runtime.now() + impl->options.summary_interval;
  Impl* const self = impl.get();
  impl->writer = runtime.spawn("audit-log", [self](std::stop_token stop) { self->write_until_stopped(stop); });
  return std::unique_ptr<AuditLog>(new AuditLog(std::move(impl)));
}

void AuditLog::record(AuditRecord record, bool by_administrator) {
  const runtime::TimePoint now = impl_->runtime.now();
  record.time = impl_->runtime.wall_now();
  if (record.is_refusal() || (record.is_read() && !by_administrator)) {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->hold_back_locked(record, now)) return;
  }
  record.id = fmt::format("{}-{}", impl_->run_name, impl_->next_id++);
  const std::string line = audit_line(record);
  bool wake = false;
  {
    const std::lock_guard lock(impl_->mutex);
    wake = impl_->waiting.empty();
    impl_->enqueue_locked(line);
  }
  if (wake) impl_->changed.notify_all();
}

AuditLog::Stats AuditLog::stats() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->stats;
}

void AuditLog::stop() { impl_->writer.stop_and_join(); }

}  // namespace strake::apistore
