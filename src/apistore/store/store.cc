#include "apistore/store/store.h"

#include <algorithm>

#include "apistore/store/database.h"
#include "apistore/store/sqlite.h"
#include "apistore/store/store_readers.h"
#include "base/private_folder.h"

namespace strake::apistore {

namespace {

constexpr const char* kDatabaseFile = "state.db";
constexpr int kMaxVerdicts = 10;  // more of them tell nobody more
constexpr std::size_t kMaxBatch = 128;
constexpr Revision kCompactionStep = 500;  // revisions a transaction, so that writers are held up for a moment only

}  // namespace

struct Store::Pending {
  const Function* function = nullptr;
  Status status;
  bool done = false;
  runtime::Condition* turn = nullptr;  ///< set while its caller waits
};

Store::Store(runtime::Runtime& runtime, StoreOptions options)
    : runtime_(runtime),
      options_(std::move(options)),
      health_(options_.directory / kDatabaseFile),
      recent_(options_.recent_bytes) {}

Result<std::unique_ptr<Store>> Store::open(runtime::Runtime& runtime, StoreOptions options) {
  std::unique_ptr<Store> store(new Store(runtime, std::move(options)));
  const std::filesystem::path& directory = store->options_.directory;
  if (directory.empty()) {
    STRAKE_TRY(store->writer_, open_memory_database(store->options_.max_bytes));
    store->readers_ = std::make_unique<StoreReaders>(runtime, *store->writer_);
  } else {
    // Secrets live in here, and what another user put here would be believed.
    STRAKE_CHECK_OK(claim_private_folder(directory));
    STRAKE_CHECK_OK(claim_private_files(directory, {}));
    auto lock = FileLock::acquire(directory / "lock");
    if (!lock.ok() && lock.error().reason() == "Locked") {
      return error(Code::kDenied, "{} is {}: stop it first, or choose another directory", directory.string(),
                   lock.error().message())
          .with_reason("Locked");
    }
    STRAKE_TRY(store->directory_lock_, std::move(lock));
    const std::filesystem::path file = directory / kDatabaseFile;
    STRAKE_TRY(store->writer_, open_database(file, store->options_.max_bytes));
    STRAKE_CHECK_OK(write_meta(*store->writer_, "clean", 0).context("opening {}", file.string()));
    store->readers_ =
        std::make_unique<StoreReaders>(runtime, file, std::max<std::size_t>(1, store->options_.max_readers));
  }
  STRAKE_TRY(store->revision_, read_meta(*store->writer_, "revision"));
  STRAKE_TRY(store->compacted_, read_meta(*store->writer_, "compacted"));
  store->events_ = std::make_unique<EventLog>(
      runtime, store->options_.events, store->revision_,
      [raw = store.get()](const std::string& resource, const std::string& ns, Revision after, std::size_t limit) {
        return raw->read_history(resource, ns, after, limit);
      });
  return store;
}

Store::~Store() {
  if (events_ == nullptr) return;  // never opened
  // What is damaged is left as it is, for whoever tries to save something.
  if (health_.damage()) {
    writer_->keep_log_on_close(true);
    return;
  }
  // A stop whose last write fails is not a clean one: the next start checks the file.
  static_cast<void>(write_meta(*writer_, "clean", 1));
}

Status Store::write(const Function& function) {
  STRAKE_CHECK_OK(health_.check_writable());
  Pending own;
  own.function = &function;
  std::vector<std::function<void()>> callbacks;
  {
    std::unique_lock lock(mutex_);
    queue_.push_back(&own);
    while (!own.done) {
      if (led_) {
        // Cannot be abandoned: the leader may be running the function. It ends with the commit under way. Each waits
        // for itself: the leader wakes those it answers and the next leader, nobody else.
        runtime::Condition turn(runtime_);
        own.turn = &turn;
        static_cast<void>(turn.wait(lock, {}, [&] { return own.done || !led_; }));
        own.turn = nullptr;
      } else {
        lead(lock, callbacks);
      }
    }
  }
  for (const auto& callback : callbacks) callback();
  if (!own.status.ok()) health_.note(own.status.error());
  return std::move(own.status);
}

void Store::lead(std::unique_lock<std::mutex>& lock, std::vector<std::function<void()>>& callbacks) {
  led_ = true;
  const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(std::min(queue_.size(), kMaxBatch));
  const std::vector<Pending*> batch(queue_.begin(), end);
  queue_.erase(queue_.begin(), end);
  lock.unlock();

  std::vector<StoreEventPtr> events;
  std::uint64_t commits = 0;
  const auto run = [&](const std::vector<Pending*>& members) {
    const std::size_t before = events.size();
    Status committed = run_together(members, events);
    if (committed.ok() && events.size() > before) ++commits;
    return committed;
  };
  if (const Status together = run(batch); !together.ok()) {
    // The commit failed as a whole (a full disk, say). One by one, those that can succeed still do.
    for (Pending* const pending : batch) {
      if (const Status alone = batch.size() > 1 ? run({pending}) : together; !alone.ok()) pending->status = alone;
    }
  }
  std::vector<std::function<void()>> ready = events_->publish(events);
  callbacks.insert(callbacks.end(), std::make_move_iterator(ready.begin()), std::make_move_iterator(ready.end()));

  lock.lock();
  if (!events.empty()) revision_ = events.back()->revision;
  stats_.commits += commits;
  for (Pending* const pending : batch) {
    if (pending->status.ok()) ++stats_.functions;
    pending->done = true;
    if (pending->turn != nullptr) pending->turn->notify_all();
  }
  led_ = false;
  if (!queue_.empty() && queue_.front()->turn != nullptr) queue_.front()->turn->notify_all();
}

Status Store::run_together(const std::vector<Pending*>& batch, std::vector<StoreEventPtr>& events) {
  const auto exclusive = readers_->exclude();
  Txn txn(*writer_, events.empty() ? revision_ : events.back()->revision);
  Status done = run_transaction(batch, txn);
  recent_.end_commit(done.ok() ? txn.events_ : std::vector<StoreEventPtr>());
  if (!done.ok()) {
    if (writer_->in_transaction()) static_cast<void>(writer_->run("ROLLBACK"));
    return std::move(done).context("committing to the store");
  }
  events.insert(events.end(), std::make_move_iterator(txn.events_.begin()), std::make_move_iterator(txn.events_.end()));
  return {};
}

Status Store::run_transaction(const std::vector<Pending*>& batch, Txn& txn) {
  STRAKE_CHECK_OK(writer_->run("BEGIN IMMEDIATE"));
  bool keep = false;
  for (Pending* const pending : batch) {
    pending->status = (*pending->function)(txn);
    const bool wrote = txn.in_savepoint_;
    if (!writer_->in_transaction()) {
      // SQLite gave up the whole transaction, the writes of the functions before included.
      if (!pending->status.ok()) return pending->status;
      return error(Code::kInternal, "SQLite ended the transaction unasked");
    }
    STRAKE_CHECK_OK(txn.end_function(pending->status.ok()));
    keep = keep || (wrote && pending->status.ok());
  }
  if (!keep) return writer_->run("ROLLBACK");
  STRAKE_CHECK_OK(write_meta(*writer_, "revision", txn.revision_));
  recent_.begin_commit(txn.events_);
  return writer_->run("COMMIT");
}

Status Store::read(const std::function<Status(sqlite::Connection&)>& use) {
  Status done = readers_->read(use);
  if (!done.ok()) health_.note(done.error());
  return done;
}

std::uint64_t Store::file_bytes() const {
  std::uint64_t bytes = 0;
  if (options_.directory.empty()) return bytes;
  for (const char* const extension : {"", "-wal", "-shm"}) {
    std::error_code absent;
    const std::uintmax_t size =
        std::filesystem::file_size(options_.directory / (std::string(kDatabaseFile) + extension), absent);
    if (!absent) bytes += size;
  }
  return bytes;
}

Status Store::check_file(const std::stop_token& stop) {
  if (options_.directory.empty()) return {};
  // A connection of its own: the readers are few, and this takes long.
  STRAKE_TRY(const auto connection, open_database_reader(options_.directory / kDatabaseFile));
  const std::stop_callback on_stop(stop, [&] { connection->interrupt(); });
  if (stop.stop_requested()) return runtime::wake_error(runtime::Wake::kCancelled, "a check of the database");
  std::vector<std::string> verdicts;
  Status ended = connection->query_texts(fmt::format("PRAGMA integrity_check({})", kMaxVerdicts), verdicts);
  if (verdicts == std::vector<std::string>{"ok"}) return ended;
  // A check that names pages may itself stumble over them in the end.
  std::string all;
  for (const std::string& verdict : verdicts) all += (all.empty() ? "" : "; ") + one_line(verdict);
  if (!all.empty()) {
    health_.note_verdict(all);
  } else if (!ended.ok()) {
    health_.note(ended.error());
    return ended;
  }
  return {};
}

Result<std::optional<Row>> Store::get(const StoreKey& key) {
  const RecentRows::Lookup recent = recent_.find(key);
  if (recent.row) return std::optional<Row>(*recent.row);
  std::optional<Row> row;
  const auto use = [&](sqlite::Connection& connection) -> Status {
    STRAKE_TRY(row, read_row(connection, key));
    return {};
  };
  STRAKE_CHECK_OK(read(use));
  if (row) recent_.learn(key, *row, recent.moment);
  return row;
}

Result<ListResult> Store::list(const ListQuery& query) {
  ListResult result;
  std::uint64_t rows = 0;
  const auto use = [&](sqlite::Connection& connection) -> Status {
    STRAKE_TRY(result, read_list(connection, query, rows));
    return {};
  };
  Status done = read(use);
  {
    std::lock_guard lock(mutex_);
    stats_.rows_listed += rows;
  }
  STRAKE_CHECK_OK(std::move(done));
  return result;
}

Result<std::int64_t> Store::count(const ListQuery& query) {
  std::int64_t number = 0;
  const auto use = [&](sqlite::Connection& connection) -> Status {
    STRAKE_TRY(number, read_count(connection, query));
    return {};
  };
  STRAKE_CHECK_OK(read(use));
  return number;
}

Result<std::unique_ptr<Subscription>> Store::subscribe(SubscribeOptions options) {
  Revision now = 0;
  const auto use = [&](sqlite::Connection& connection) -> Status {
    STRAKE_TRY(now, read_meta(connection, "revision"));
    return {};
  };
  STRAKE_CHECK_OK(read(use));
  const Revision oldest = compacted();
  if (options.after < oldest) return expired_revision(options.after, oldest);
  if (options.after > now) {
    return error(Code::kExpired, "resource version {} is newer than anything stored ({}): list again", options.after,
                 now)
        .with_reason("Expired");
  }
  return events_->subscribe(std::move(options));
}

Result<HistoryChunk> Store::read_history(const std::string& resource, const std::string& ns, Revision after,
                                         std::size_t limit) {
  HistoryChunk chunk;
  const auto use = [&](sqlite::Connection& connection) -> Status {
    STRAKE_TRY(chunk, read_history_chunk(connection, resource, ns, after, limit));
    return {};
  };
  STRAKE_CHECK_OK(read(use));
  return chunk;
}

Revision Store::revision() const {
  std::lock_guard lock(mutex_);
  return revision_;
}

Revision Store::compacted() const {
  std::lock_guard lock(mutex_);
  return compacted_;
}

StoreStats Store::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

Status Store::compact() {
  Revision target = 0;
  {
    std::lock_guard lock(mutex_);
    const runtime::TimePoint now = runtime_.now();
    ages_.emplace_back(now, revision_);
    while (ages_.size() > 1 && ages_[1].first <= now - options_.keep_time) ages_.pop_front();
    if (ages_.front().first > now - options_.keep_time) return {};
    target = std::min(ages_.front().second, revision_ - options_.keep_revisions);
  }
  while (compacted() < target) STRAKE_CHECK_OK(compact_to(std::min(target, compacted() + kCompactionStep)));
  return {};
}

Status Store::compact_to(Revision target) {
  const Function function = [&](Txn& txn) -> Status {
    STRAKE_CHECK_OK(txn.before_write());
    STRAKE_TRY(sqlite::Statement* const remove, txn.connection_.statement("DELETE FROM history WHERE rv<=?1"));
    STRAKE_CHECK_OK(remove->bind(1, target).run());
    return write_meta(txn.connection_, "compacted", target);
  };
  STRAKE_CHECK_OK(write(function));
  std::lock_guard lock(mutex_);
  compacted_ = std::max(compacted_, target);
  return {};
}

// Txn

Result<std::optional<Row>> Txn::get(const StoreKey& key) { return read_row(connection_, key); }

Result<Revision> Txn::revision_of(const StoreKey& key) {
  STRAKE_TRY(sqlite::Statement* const select,
             connection_.statement("SELECT rv FROM objects WHERE resource=?1 AND ns=?2 AND name=?3"));
  select->bind(1, std::string_view(key.resource)).bind(2, std::string_view(key.ns)).bind(3, std::string_view(key.name));
  STRAKE_TRY(const bool found, select->step());
  if (!found) return Revision{0};
  const Revision revision = select->integer(0);
  select->reset();
  return revision;
}

Result<bool> Txn::changed_since(Revision revision, const std::string& resource, const std::string& ns) {
  STRAKE_TRY(sqlite::Statement* const select,
             connection_.statement("SELECT 1 FROM history WHERE rv>?1 AND resource=?2 AND ns=?3 LIMIT 1"));
  select->bind(1, revision).bind(2, std::string_view(resource)).bind(3, std::string_view(ns));
  STRAKE_TRY(const bool changed, select->step());
  select->reset();
  return changed;
}

Status Txn::before_write() {
  if (in_savepoint_) return {};
  STRAKE_CHECK_OK(connection_.run("SAVEPOINT function"));
  in_savepoint_ = true;
  savepoint_revision_ = revision_;
  savepoint_events_ = events_.size();
  return {};
}

Status Txn::end_function(bool keep) {
  if (!in_savepoint_) return {};
  in_savepoint_ = false;
  if (keep) return connection_.run("RELEASE function");
  revision_ = savepoint_revision_;
  events_.resize(savepoint_events_);
  STRAKE_CHECK_OK(connection_.run("ROLLBACK TO function"));
  return connection_.run("RELEASE function");
}

Result<Txn::Stored> Txn::stored_by(std::string_view owner) {
  STRAKE_TRY(sqlite::Statement* const select,
             connection_.statement("SELECT count(*), coalesce(sum(bytes), 0) FROM owners WHERE owner=?1"));
  STRAKE_TRY(const bool row, select->bind(1, owner).step());
  STRAKE_INVARIANT(row);
  const Stored stored{select->integer(0), select->integer(1)};
  select->reset();
  return stored;
}

Result<std::string> Txn::owner_of(std::string_view uid) {
  STRAKE_TRY(sqlite::Statement* const select, connection_.statement("SELECT owner FROM owners WHERE uid=?1"));
  STRAKE_TRY(const bool found, select->bind(1, uid).step());
  if (!found) return std::string();
  std::string owner(select->text(0));
  select->reset();
  return owner;
}

Status Txn::count_for_owner(const Row& written, bool is_new, std::string_view owner) {
  if (is_new && owner.empty()) return {};
  STRAKE_TRY(sqlite::Statement* const change,
             connection_.statement(is_new ? "INSERT OR REPLACE INTO owners(uid, owner, bytes) VALUES(?1, ?3, ?2)"
                                          : "UPDATE owners SET bytes=?2 WHERE uid=?1"));
  change->bind(1, std::string_view(written.uid)).bind(2, static_cast<std::int64_t>(written.text.size()));
  if (is_new) change->bind(3, owner);
  return change->run();
}

Result<Row> Txn::put(const StoreKey& key, std::string_view uid, const RevisionedText& text, std::string_view owner) {
  STRAKE_CHECK_OK(before_write());
  STRAKE_TRY(std::optional<Row> previous, get(key));
  Row written{key.ns, key.name, std::string(uid), revision_ + 1, text.with(revision_ + 1)};
  if (previous) {
    STRAKE_TRY(
        sqlite::Statement* const update,
        connection_.statement("UPDATE objects SET rv=?4, uid=?5, json=?6 WHERE resource=?1 AND ns=?2 AND name=?3"));
    update->bind(1, std::string_view(key.resource))
        .bind(2, std::string_view(key.ns))
        .bind(3, std::string_view(key.name));
    STRAKE_CHECK_OK(update->bind(4, written.revision).bind(5, uid).bind(6, std::string_view(written.text)).run());
  } else {
    STRAKE_TRY(
        sqlite::Statement* const insert,
        connection_.statement("INSERT INTO objects(resource, ns, name, rv, uid, json) VALUES(?1, ?2, ?3, ?4, ?5, ?6)"));
    insert->bind(1, std::string_view(key.resource))
        .bind(2, std::string_view(key.ns))
        .bind(3, std::string_view(key.name));
    STRAKE_CHECK_OK(insert->bind(4, written.revision).bind(5, uid).bind(6, std::string_view(written.text)).run());
  }
  STRAKE_CHECK_OK(count_for_owner(written, !previous, owner));
  const ChangeType type = previous ? ChangeType::kUpdated : ChangeType::kCreated;
  STRAKE_CHECK_OK(record(key, uid, type, written, std::move(previous)));
  return written;
}

Result<Row> Txn::remove(const StoreKey& key, const RevisionedText& last) {
  STRAKE_CHECK_OK(before_write());
  STRAKE_TRY(std::optional<Row> previous, get(key));
  if (!previous) return error(Code::kNotFound, "there is no {}", key.to_string());
  Row written{key.ns, key.name, previous->uid, revision_ + 1, last.with(revision_ + 1)};
  STRAKE_TRY(sqlite::Statement* const erase,
             connection_.statement("DELETE FROM objects WHERE resource=?1 AND ns=?2 AND name=?3"));
  erase->bind(1, std::string_view(key.resource)).bind(2, std::string_view(key.ns)).bind(3, std::string_view(key.name));
  STRAKE_CHECK_OK(erase->run());
  const std::string uid = previous->uid;
  STRAKE_TRY(sqlite::Statement* const forget, connection_.statement("DELETE FROM owners WHERE uid=?1"));
  STRAKE_CHECK_OK(forget->bind(1, std::string_view(uid)).run());
  STRAKE_CHECK_OK(record(key, uid, ChangeType::kDeleted, written, std::move(previous)));
  return written;
}

Status Txn::record(const StoreKey& key, std::string_view uid, ChangeType type, Row& written,
                   std::optional<Row> previous) {
  STRAKE_TRY(
      sqlite::Statement* const insert,
      connection_.statement("INSERT INTO history(rv, resource, ns, name, uid, type, previous_rv, object, previous)"
                            " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"));
  insert->bind(1, written.revision).bind(2, std::string_view(key.resource)).bind(3, std::string_view(key.ns));
  insert->bind(4, std::string_view(key.name)).bind(5, uid).bind(6, static_cast<std::int64_t>(type));
  insert->bind(7, previous ? previous->revision : 0).bind(8, std::string_view(written.text));
  if (previous) {
    insert->bind(9, std::string_view(previous->text));
  } else {
    insert->bind_null(9);
  }
  STRAKE_CHECK_OK(insert->run());

  auto event = std::make_shared<StoreEvent>();
  event->revision = ++revision_;
  event->key = key;
  event->uid = uid;
  event->type = type;
  event->object = written.text;
  if (previous) event->previous = std::move(previous->text);
  events_.push_back(std::move(event));
  return {};
}

}  // namespace strake::apistore
