#include "apistore/store/store_readers.h"

#include <limits>
#include <map>

#include "apistore/store/database.h"

namespace strake::apistore {

namespace {

Row row_of(const sqlite::Statement& query) {
  return {std::string(query.text(0)), std::string(query.text(1)), std::string(query.text(2)), query.integer(3),
          std::string(query.text(4))};
}

constexpr std::uint64_t kRowsBetweenLooks = 64;  // whether anybody still waits for a list

constexpr const char* kListAll =
    "SELECT ns, name, uid, rv, json FROM objects WHERE resource=?1 AND (ns, name) > (?2, ?3) AND rv<=?4"
    " ORDER BY ns, name LIMIT ?5";
constexpr const char* kListNamespace =
    "SELECT ns, name, uid, rv, json FROM objects WHERE resource=?1 AND ns=?2 AND name>?3 AND rv<=?4 ORDER BY name "
    "LIMIT ?5";

constexpr const char* kListOne =
    "SELECT ns, name, uid, rv, json FROM objects WHERE resource=?1 AND ns=?2 AND name=?3 AND rv<=?4 LIMIT ?5";

/// Keys of this resource that were first changed after the revision, with the revision of that first change.
Result<std::map<std::pair<std::string, std::string>, Revision>> changed_after(sqlite::Connection& connection,
                                                                              const ListQuery& query, Revision at) {
  STRAKE_TRY(
      sqlite::Statement* const select,
      connection.statement("SELECT ns, name, min(rv) FROM history WHERE rv>?1 AND resource=?2 AND (?3='' OR ns=?3)"
                           " GROUP BY ns, name"));
  select->bind(1, at).bind(2, std::string_view(query.resource)).bind(3, std::string_view(query.ns));
  std::map<std::pair<std::string, std::string>, Revision> changed;
  while (true) {
    STRAKE_TRY(const bool row, select->step());
    if (!row) return changed;
    std::pair<std::string, std::string> key(select->text(0), select->text(1));
    if (query.after && key <= *query.after) continue;
    if (query.only && key != std::pair(query.ns, *query.only)) continue;
    changed.emplace(std::move(key), select->integer(2));
  }
}

/// What a change replaced; nullopt when it created the object.
Result<std::optional<Row>> row_before(sqlite::Connection& connection, Revision change) {
  STRAKE_TRY(sqlite::Statement* const select,
             connection.statement(
                 "SELECT ns, name, uid, previous_rv, previous FROM history WHERE rv=?1 AND previous IS NOT NULL"));
  STRAKE_TRY(const bool found, select->bind(1, change).step());
  if (!found) return std::optional<Row>();
  std::optional<Row> row = row_of(*select);
  select->reset();
  return row;
}

}  // namespace

Status StoreReaders::read(const std::function<Status(sqlite::Connection&)>& use) {
  if (shared_ != nullptr) {
    std::lock_guard lock(shared_mutex_);
    return use(*shared_);
  }
  STRAKE_TRY(auto connection, acquire());
  Status done = connection->run("BEGIN");
  if (done.ok()) {
    done = use(*connection);
    const Status ended = connection->run("ROLLBACK");
    if (done.ok() && !ended.ok()) done = ended;
  }
  {
    std::lock_guard lock(mutex_);
    // A connection that failed is not trusted with another read.
    if (done.ok() || !connection->in_transaction()) {
      idle_.push_back(std::move(connection));
    } else {
      --open_;
    }
  }
  freed_.notify_all();
  return done;
}

std::unique_lock<std::mutex> StoreReaders::exclude() {
  return shared_ != nullptr ? std::unique_lock(shared_mutex_) : std::unique_lock<std::mutex>();
}

Result<std::unique_ptr<sqlite::Connection>> StoreReaders::acquire() {
  {
    std::unique_lock lock(mutex_);
    // Every holder gives back soon, whatever happens to its caller: no deadline is needed.
    const runtime::Wake wake = freed_.wait(lock, {}, [this] { return !idle_.empty() || open_ < max_readers_; });
    STRAKE_INVARIANT(wake == runtime::Wake::kReady);
    if (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
    ++open_;
  }
  auto opened = open_database_reader(path_);
  if (!opened.ok()) {
    {
      std::lock_guard lock(mutex_);
      --open_;
    }
    freed_.notify_all();
  }
  return opened;
}

Result<std::optional<Row>> read_row(sqlite::Connection& connection, const StoreKey& key) {
  STRAKE_TRY(
      sqlite::Statement* const select,
      connection.statement("SELECT ns, name, uid, rv, json FROM objects WHERE resource=?1 AND ns=?2 AND name=?3"));
  select->bind(1, std::string_view(key.resource)).bind(2, std::string_view(key.ns)).bind(3, std::string_view(key.name));
  STRAKE_TRY(const bool found, select->step());
  if (!found) return std::optional<Row>();
  std::optional<Row> row = row_of(*select);
  select->reset();
  return row;
}

Result<ListResult> read_list(sqlite::Connection& connection, const ListQuery& query, std::uint64_t& rows) {
  ListResult result;
  STRAKE_TRY(const Revision now, read_meta(connection, "revision"));
  result.revision = query.at.value_or(now);
  std::map<std::pair<std::string, std::string>, Revision> changed;
  if (query.at) {
    STRAKE_TRY(const Revision compacted, read_meta(connection, "compacted"));
    if (*query.at < compacted) return expired_revision(*query.at, compacted);
    if (*query.at > now) {
      return error(Code::kTimeout, "Too large resource version: {}, current: {}", *query.at, now)
          .with_reason("Timeout");
    }
    if (*query.at < now) {
      STRAKE_TRY(changed, changed_after(connection, query, *query.at));
    }
  }

  const std::size_t limit = query.limit == 0 ? std::numeric_limits<std::int64_t>::max() : query.limit;
  const char* const sql = query.only ? kListOne : (query.ns.empty() ? kListAll : kListNamespace);
  STRAKE_TRY(sqlite::Statement* const select, connection.statement(sql));
  const std::string after_ns = query.after ? query.after->first : "";
  const std::string after_name = query.after ? query.after->second : "";
  const bool from_ns = query.ns.empty() && !query.only;
  select->bind(1, std::string_view(query.resource)).bind(2, std::string_view(from_ns ? after_ns : query.ns));
  select->bind(3, std::string_view(query.only ? *query.only : after_name)).bind(4, result.revision);
  // One more than asked for: it tells whether there is more.
  select->bind(5, query.limit == 0 ? std::int64_t{-1} : static_cast<std::int64_t>(limit) + 1);

  // Rows unchanged since the revision and keys changed after it never meet: merging the two orders gives the state as
  // it was.
  auto change = changed.begin();
  STRAKE_TRY(bool live, select->step());
  while (live || change != changed.end()) {
    if (rows++ % kRowsBetweenLooks == 0 && query.stop.stop_requested()) {
      select->reset();
      return runtime::wake_error(runtime::Wake::kCancelled, "a list");
    }
    std::optional<Row> row;
    const bool take_live = live && (change == changed.end() || std::pair(select->text(0), select->text(1)) <
                                                                   std::pair<std::string_view, std::string_view>(
                                                                       change->first.first, change->first.second));
    if (take_live) {
      if (result.rows.size() < limit) row = row_of(*select);
    } else {
      STRAKE_TRY(row, row_before(connection, change->second));
      ++change;
      if (!row) continue;
    }
    if (result.rows.size() == limit) {
      result.more = true;
      break;
    }
    result.rows.push_back(*std::move(row));
    if (take_live) {
      STRAKE_TRY(live, select->step());
    }
  }
  select->reset();
  return result;
}

Result<std::int64_t> read_count(sqlite::Connection& connection, const ListQuery& query) {
  // At a past moment: what has not changed since, and what has and was there before its first change.
  STRAKE_TRY(sqlite::Statement* const select,
             connection.statement(
                 "SELECT (SELECT count(*) FROM objects"
                 "  WHERE resource=?1 AND (?2='' OR ns=?2) AND (ns, name)>(?3, ?4) AND rv<=?5)"
                 " + (SELECT count(*) FROM history WHERE previous IS NOT NULL AND rv IN (SELECT min(rv) FROM history"
                 "  WHERE rv>?5 AND resource=?1 AND (?2='' OR ns=?2) AND (ns, name)>(?3, ?4) GROUP BY ns, name))"));
  const std::pair<std::string, std::string> from = query.after.value_or(std::pair<std::string, std::string>());
  select->bind(1, std::string_view(query.resource)).bind(2, std::string_view(query.ns));
  select->bind(3, std::string_view(from.first)).bind(4, std::string_view(from.second));
  STRAKE_TRY(const bool row, select->bind(5, query.at.value_or(std::numeric_limits<Revision>::max())).step());
  STRAKE_INVARIANT(row);
  const std::int64_t number = select->integer(0);
  select->reset();
  return number;
}

Result<HistoryChunk> read_history_chunk(sqlite::Connection& connection, const std::string& resource,
                                        const std::string& ns, Revision after, std::size_t limit) {
  STRAKE_TRY(const Revision compacted, read_meta(connection, "compacted"));
  if (after < compacted) return expired_revision(after, compacted);
  STRAKE_TRY(const Revision now, read_meta(connection, "revision"));
  STRAKE_TRY(sqlite::Statement* const select,
             connection.statement("SELECT rv, resource, ns, name, uid, type, object, previous FROM history"
                                  " WHERE rv>?1 AND (?2='' OR resource=?2) AND (?3='' OR ns=?3) ORDER BY rv LIMIT ?4"));
  select->bind(1, after).bind(2, std::string_view(resource)).bind(3, std::string_view(ns));
  select->bind(4, static_cast<std::int64_t>(limit));
  HistoryChunk chunk;
  while (true) {
    STRAKE_TRY(const bool row, select->step());
    if (!row) break;
    auto event = std::make_shared<StoreEvent>();
    event->revision = select->integer(0);
    event->key = {std::string(select->text(1)), std::string(select->text(2)), std::string(select->text(3))};
    event->uid = select->text(4);
    event->type = static_cast<ChangeType>(select->integer(5));
    event->object = select->text(6);
    if (!select->is_null(7)) event->previous = std::string(select->text(7));
    chunk.events.push_back(std::move(event));
  }
  chunk.scanned_to = chunk.events.size() < limit ? now : chunk.events.back()->revision;
  return chunk;
}

}  // namespace strake::apistore
