// The store: objects as JSON text under (resource, namespace, name), one global revision, in one SQLite database.
//
// Writing. A transaction is a function. Callers queue their functions; the first becomes the leader, runs everything
// queued inside one SQLite transaction and commits once, so that sixteen writers share one fsync. Each function is a
// savepoint: one that fails leaves nothing. When write() returns success, the change is on disk (in memory mode: in
// memory).
//
// Reading. On disk, readers are connections of their own on WAL snapshots and never wait for the writer. In memory
// there is one connection under a mutex held for a moment, so nothing blocks under simulation.
//
// Past moments. history keeps what each revision replaced, so a list may be continued at the revision its first page
// saw, and a watch may resume, until compaction passes them: then kExpired.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "apistore/store/event_log.h"
#include "apistore/store/recent_rows.h"
#include "apistore/store/store_health.h"
#include "apistore/store/store_types.h"
#include "base/file_lock.h"
#include "base/result.h"
#include "base/runtime.h"

namespace strake::apistore {

namespace sqlite {
class Connection;
}
class StoreReaders;

struct StoreOptions {
  std::filesystem::path directory;  ///< empty: in memory
  std::uint64_t max_bytes = 0;  ///< of the database file; 0 = what the disk allows. Beyond it writes answer kExhausted
  std::size_t max_readers = 4;
  /// Compaction keeps history that is newer than `keep_time`, and the newest `keep_revisions` in any case.
  runtime::Duration keep_time = std::chrono::minutes(5);
  Revision keep_revisions = 1'000;
  EventLogLimits events;
  std::size_t recent_bytes = 4u << 20;  ///< of objects kept in memory
};

/// Inside a write: reads see the writes before it. Valid only while the function runs.
class Txn {
 public:
  /// nullopt when there is none.
  Result<std::optional<Row>> get(const StoreKey& key);
  /// 0 when there is none.
  Result<Revision> revision_of(const StoreKey& key);
  /// Whether anything of this resource in this namespace changed after a revision (which must not be older than the
  /// history).
  Result<bool> changed_since(Revision revision, const std::string& resource, const std::string& ns);

  /// Creates or replaces; returns the object's complete text and its revision. With an owner, a new object counts in
  /// stored_by() until it is removed.
  Result<Row> put(const StoreKey& key, std::string_view uid, const RevisionedText& text, std::string_view owner = {});
  /// How much objects that were created with this owner take now.
  struct Stored {
    std::int64_t objects = 0;
    std::int64_t bytes = 0;
  };
  Result<Stored> stored_by(std::string_view owner);
  /// "" when the object has none.
  Result<std::string> owner_of(std::string_view uid);

  /// `last` is what watchers are shown.
  Result<Row> remove(const StoreKey& key, const RevisionedText& last);

 private:
  friend class Store;
  Txn(sqlite::Connection& connection, Revision revision) : connection_(connection), revision_(revision) {}

  Status before_write();
  Status count_for_owner(const Row& written, bool is_new, std::string_view owner);
  Status end_function(bool keep);
  Status record(const StoreKey& key, std::string_view uid, ChangeType type, Row& written, std::optional<Row> previous);

  sqlite::Connection& connection_;
  Revision revision_;
  std::vector<StoreEventPtr> events_;
  bool in_savepoint_ = false;
  Revision savepoint_revision_ = 0;
  std::size_t savepoint_events_ = 0;
};

struct ListQuery {
  std::string resource;
  std::string ns;                                            ///< "" = all
  std::optional<std::pair<std::string, std::string>> after;  ///< continue behind this (namespace, name)
  std::size_t limit = 0;                                     ///< 0 = all
  std::optional<Revision> at;                                ///< as of this revision; default: now
  /// Only the object of this name in `ns`, where "" is no namespace and not all of them: no other row is looked at.
  std::optional<std::string> only{};
  std::stop_token stop{};  ///< kCancelled once it is asked to stop
};

struct ListResult {
  std::vector<Row> rows;  ///< by namespace, then name
  Revision revision = 0;  ///< the state this is
  bool more = false;
};

struct StoreStats {
  std::uint64_t functions = 0;  ///< that were run and succeeded
  std::uint64_t commits = 0;
  std::uint64_t rows_listed = 0;  ///< read for lists, whether they were shown or not
};

class Store {
 public:
  /// Errors: kDenied with reason "Locked" when another process has the directory; kCorrupt for a damaged file, left as
  /// it is.
  static Result<std::unique_ptr<Store>> open(runtime::Runtime& runtime, StoreOptions options);
  /// Every subscription must be gone. Marks the stop as clean.
  ~Store();

  using Function = std::function<Status(Txn&)>;
  /// Runs the function in turn; it may run twice (when a commit shared with others fails), and must use the Txn only.
  Status write(const Function& function);

  Result<std::optional<Row>> get(const StoreKey& key);
  Result<ListResult> list(const ListQuery& query);
  /// How many a list of all that this query asks for would show; its limit does not count.
  Result<std::int64_t> count(const ListQuery& query);
  /// kExpired when `after` is older than what history keeps, or newer than anything committed (a database put back from
  /// a backup).
  Result<std::unique_ptr<Subscription>> subscribe(SubscribeOptions options);

  Revision revision() const;
  /// History up to here is gone.
  Revision compacted() const;
  /// To be called now and then: remembers when each revision was new, and drops history that is old enough.
  Status compact();

  /// What is known about the file. Every error of it met by a call here is in there.
  StoreHealth& health() { return health_; }
  /// Reads the whole file, which takes a while; what is wrong is in health() afterwards. Others go on meanwhile. The
  /// error is of the check itself; kCancelled when stopped. In memory there is nothing to check.
  Status check_file(const std::stop_token& stop);

  /// Of the database with its log; 0 in memory.
  std::uint64_t file_bytes() const;

  /// Ends the waits of all subscribers, so that their tasks can be joined before destruction.
  void close() { events_->close(); }
  StoreStats stats() const;

 private:
  struct Pending;
  Store(runtime::Runtime& runtime, StoreOptions options);

  void lead(std::unique_lock<std::mutex>& lock, std::vector<std::function<void()>>& callbacks);
  Status run_together(const std::vector<Pending*>& batch, std::vector<StoreEventPtr>& events);
  Status run_transaction(const std::vector<Pending*>& batch, Txn& txn);
  Result<HistoryChunk> read_history(const std::string& resource, const std::string& ns, Revision after,
                                    std::size_t limit);
  Status compact_to(Revision target);
  Status read(const std::function<Status(sqlite::Connection&)>& use);

  runtime::Runtime& runtime_;
  const StoreOptions options_;
  FileLock directory_lock_;                     ///< before the connections: given up when they are closed
  std::unique_ptr<sqlite::Connection> writer_;  ///< used by the leader only
  std::unique_ptr<StoreReaders> readers_;
  std::unique_ptr<EventLog> events_;
  StoreHealth health_;
  RecentRows recent_;

  mutable std::mutex mutex_;
  std::deque<Pending*> queue_;
  bool led_ = false;
  Revision revision_ = 0;
  Revision compacted_ = 0;
  StoreStats stats_;
  std::deque<std::pair<runtime::TimePoint, Revision>> ages_;  ///< at this time, this was the newest revision
};

}  // namespace strake::apistore
