// AuditLog: the requests of the API server, one line each (audit_record.h), written by one task behind a bounded queue.
//
// No request ever waits for it. What the queue cannot take, and what the disk refuses, is lost and counted; the count
// goes to a hook, to the statistics and, once the disk works again, into the log itself.
//
// So that nobody can fill the log in order to roll something over its end, refusals (401, 403, 429) of one user or
// address and reads of one user who is no administrator are written each for itself up to a rate; the rest are counted
// and summed up every minute. Changes that were made are always written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "apistore/guard/audit_file.h"
#include "apistore/guard/audit_record.h"
#include "base/limits/rate_limiter.h"
#include "base/result.h"
#include "base/runtime.h"

namespace strake::apistore {

struct AuditOptions {
  std::filesystem::path file{};
  AuditFileLimits limits{};
  std::size_t queue_bytes = 4u << 20;
  Rate refusals{.per_second = 1, .burst = 20};
  Rate reads{.per_second = 5, .burst = 200};
  std::size_t max_names = 10'000;  ///< users and addresses whose rate is remembered
  runtime::Duration summary_interval = std::chrono::minutes(1);
  /// Lines that come so shortly after one another are written together: a write for each costs more than the request.
  runtime::Duration gather_time = std::chrono::milliseconds(50);
  runtime::Duration retry_interval = std::chrono::seconds(5);  ///< after the disk refused a write
  /// Told what went wrong with the file; called by the writer's task.
  std::function<void(const Error&)> on_problem{};
};

class AuditLog {
 public:
  struct Stats {
    std::uint64_t written = 0;    ///< lines in the file
    std::uint64_t lost = 0;       ///< lines that never got there
    std::uint64_t summed_up = 0;  ///< requests that are counted in a summary only
  };

  /// Fails when the file cannot be written now: whoever wants a log should know at once.
  static Result<std::unique_ptr<AuditLog>> open(runtime::Runtime& runtime, AuditOptions options);
  /// Writes what waits.
  ~AuditLog();

  /// `record.id` is filled in here. Never waits.
  void record(AuditRecord record, bool by_administrator);

  Stats stats() const;
  /// Writes what waits, summaries included, and ends; what comes later is lost.
  void stop();

 private:
  struct Impl;
  explicit AuditLog(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace strake::apistore
