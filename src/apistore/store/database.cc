#include "apistore/store/database.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "base/fd.h"

namespace strake::apistore {

namespace {

constexpr std::int64_t kApplicationId = 0x5354524b;  // "STRK", so that `file` and we recognise the database
constexpr std::uint64_t kPageBytes = 8192;  // a typical Node fits one page, and a list reads half as many pages

// The first revision a client may see is 2: "0" and "1" then never name a state, and "0" keeps its meaning in a watch.
constexpr std::array kMigrations = {
    "CREATE TABLE objects("
    "  id INTEGER PRIMARY KEY,"
    "  resource TEXT NOT NULL, ns TEXT NOT NULL, name TEXT NOT NULL,"
    "  rv INTEGER NOT NULL, uid TEXT NOT NULL, json TEXT NOT NULL,"
    "  UNIQUE(resource, ns, name));"
    "CREATE TABLE history("
    "  rv INTEGER PRIMARY KEY,"
    "  resource TEXT NOT NULL, ns TEXT NOT NULL, name TEXT NOT NULL,"
    "  uid TEXT NOT NULL, type INTEGER NOT NULL, previous_rv INTEGER NOT NULL,"
    "  object TEXT NOT NULL, previous TEXT);"
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
    "INSERT INTO meta VALUES('revision', 1), ('compacted', 1), ('clean', 1);",
    // What users with a quota have created: few rows, found by the object's uid, summed up by user.
    "CREATE TABLE owners(uid TEXT PRIMARY KEY, owner TEXT NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX owners_by_owner ON owners(owner, bytes);",
};

constexpr std::string_view kLeftAsItIs =
    "left as it is; restore the directory from a backup, or move it away to begin anew";

Status check_header(const std::filesystem::path& path) {
  auto bytes = [&]() -> Result<std::string> {
    STRAKE_TRY(Fd file, open_file(path, O_RDONLY));
    std::string header(100, '\0');
    const ssize_t size = pread(file.get(), header.data(), header.size(), 0);
    if (size < 0) return errno_error(errno, fmt::format("reading {}", path.string()));
    header.resize(static_cast<std::size_t>(size));
    return header;
  }();
  if (!bytes.ok()) return std::move(bytes).error();
  if (bytes->empty()) return {};  // created, never written: the same as none
  const std::string& header = *bytes;
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  if (header.size() < 100 || !std::string_view(header).starts_with(kMagic)) {
    return error(Code::kCorrupt, "{} is not a SQLite database; {}", path.string(), kLeftAsItIs);
  }

  const auto number_at = [&](std::size_t at, std::size_t width) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < width; ++i) number = number << 8 | static_cast<unsigned char>(header[at + i]);
    return number;
  };
  std::error_code failed;
  const std::uint64_t log_bytes = std::filesystem::file_size(path.string() + "-wal", failed);
  const bool has_log = !failed && log_bytes > 0;
  const std::uint64_t file_bytes = std::filesystem::file_size(path, failed);
  if (failed) return error(Code::kIo, "reading the size of {}: {}", path.string(), failed.message());
  // While a log exists the newest header is in there, and the file may rightly be shorter than it says.
  const std::uint64_t page_bytes = number_at(16, 2) == 1 ? 65536 : number_at(16, 2);
  const bool page_count_valid = number_at(24, 4) == number_at(92, 4);
  if (!has_log && page_count_valid && file_bytes < page_bytes * number_at(28, 4)) {
    return error(Code::kCorrupt, "{} is cut off: {} bytes of {}; {}", path.string(), file_bytes,
                 page_bytes * number_at(28, 4), kLeftAsItIs);
  }
  return {};
}

/// Refuses what is not ours or is newer than we are, and what SQLite finds inconsistent.
Status check_contents(sqlite::Connection& connection, const std::filesystem::path& path) {
  STRAKE_TRY(const std::int64_t tables, connection.query_integer("SELECT count(*) FROM sqlite_master"));
  STRAKE_TRY(const std::int64_t version, connection.query_integer("PRAGMA user_version"));
  if (tables == 0 && version == 0) return {};
  STRAKE_TRY(const std::int64_t application, connection.query_integer("PRAGMA application_id"));
  if (application != kApplicationId) {
    return error(Code::kCorrupt, "the database belongs to another program");
  }
  const auto newest = static_cast<std::int64_t>(kMigrations.size());
  if (version > newest) {
    return error(Code::kUnsupported,
                 "{} was written by a newer program (tables of version {}, known here: {}); use that one",
                 path.string(), version, newest);
  }
  STRAKE_TRY(const std::int64_t clean, read_meta(connection, "clean"));
  std::error_code failed;
  const std::uint64_t bytes = std::filesystem::file_size(path, failed);
  if (clean == 1 && !failed && bytes > kCheckedAtStartBytes) return {};
  STRAKE_TRY(const std::string verdict, connection.query_text("PRAGMA quick_check(1)"));
  if (verdict != "ok") return error(Code::kCorrupt, "the database is damaged ({})", one_line(verdict));
  return {};
}

}  // namespace

std::string one_line(std::string_view verdict) {
  // "*** in database main ***" says nothing where there is one database.
  constexpr std::string_view kPreamble = "*** in database main ***\n";
  if (verdict.starts_with(kPreamble)) verdict.remove_prefix(kPreamble.size());
  std::string line(verdict);
  std::replace(line.begin(), line.end(), '\n', ';');
  return line;
}

namespace {

Status migrate(sqlite::Connection& connection) {
  STRAKE_TRY(std::int64_t version, connection.query_integer("PRAGMA user_version"));
  for (; version < static_cast<std::int64_t>(kMigrations.size()); ++version) {
    // The pragmas take part in the transaction: a power loss leaves the old version, whole.
    const std::string script =
        fmt::format("BEGIN IMMEDIATE; {} PRAGMA application_id={}; PRAGMA user_version={}; COMMIT;",
                    kMigrations[static_cast<std::size_t>(version)], kApplicationId, version + 1);
    if (Status done = connection.execute(script); !done.ok()) {
      if (connection.in_transaction()) static_cast<void>(connection.execute("ROLLBACK"));
      return std::move(done).context("bringing the tables from version {} to {}", version, version + 1);
    }
  }
  return {};
}

Status set_size_limit(sqlite::Connection& connection, std::uint64_t max_bytes) {
  if (max_bytes == 0) return {};
  STRAKE_TRY(const std::int64_t page_bytes, connection.query_integer("PRAGMA page_size"));
  return connection.execute(fmt::format(
      "PRAGMA max_page_count={}", std::max<std::uint64_t>(1, max_bytes / static_cast<std::uint64_t>(page_bytes))));
}

constexpr const char* kConnectionSettings =
    "PRAGMA busy_timeout=10000; PRAGMA trusted_schema=OFF; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-8192;";
// Every commit empties the caches of the readers, so more than a list's inner pages is kept in vain. Mapping the file
// instead would count what was ever read as ours, and a growing file would be mapped anew after every commit.
constexpr const char* kReaderSettings =
    "PRAGMA busy_timeout=10000; PRAGMA trusted_schema=OFF; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-2048;";

/// Secrets are in there. SQLite gives the files beside it the same mode. One that exists is as its folder was claimed.
void make_private_file(const std::filesystem::path& path) { (void)open_file(path, O_RDWR | O_CREAT | O_EXCL, 0600); }

Result<std::unique_ptr<sqlite::Connection>> open_checked(const std::filesystem::path& path, std::uint64_t max_bytes) {
  STRAKE_TRY(auto connection, sqlite::Connection::open(path, sqlite::Mode::kReadWriteCreate));
  // Until the file is trusted, closing must not fold a log into it.
  connection->keep_log_on_close(true);
  STRAKE_CHECK_OK(connection->execute(fmt::format("{} PRAGMA page_size={};", kConnectionSettings, kPageBytes)));
  STRAKE_CHECK_OK(check_contents(*connection, path));
  STRAKE_CHECK_OK(
      connection->execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=2000;"
                          "PRAGMA journal_size_limit=67108864;"));
  STRAKE_CHECK_OK(migrate(*connection));
  STRAKE_CHECK_OK(set_size_limit(*connection, max_bytes));
  connection->keep_log_on_close(false);
  return connection;
}

}  // namespace

std::span<const char* const> database_migrations() { return kMigrations; }

Result<std::unique_ptr<sqlite::Connection>> open_database(const std::filesystem::path& path, std::uint64_t max_bytes) {
  std::error_code failed;
  if (std::filesystem::exists(path, failed)) STRAKE_CHECK_OK(check_header(path));
  make_private_file(path);
  auto opened = open_checked(path, max_bytes);
  // Whatever SQLite stumbles over, in whatever step.
  if (!opened.ok() && opened.error().code() == Code::kCorrupt) {
    return error(Code::kCorrupt, "{}: {}; {}", path.string(), opened.error().message(), kLeftAsItIs);
  }
  return opened;
}

Result<std::unique_ptr<sqlite::Connection>> open_memory_database(std::uint64_t max_bytes) {
  STRAKE_TRY(auto connection, sqlite::Connection::open(":memory:", sqlite::Mode::kReadWriteCreate));
  STRAKE_CHECK_OK(connection->execute(kConnectionSettings));
  STRAKE_CHECK_OK(migrate(*connection));
  STRAKE_CHECK_OK(set_size_limit(*connection, max_bytes));
  return connection;
}

Result<std::unique_ptr<sqlite::Connection>> open_database_reader(const std::filesystem::path& path) {
  STRAKE_TRY(auto connection, sqlite::Connection::open(path, sqlite::Mode::kReadOnly));
  STRAKE_CHECK_OK(connection->execute(kReaderSettings));
  return connection;
}

Result<std::int64_t> read_meta(sqlite::Connection& connection, std::string_view name) {
  STRAKE_TRY(sqlite::Statement* const query, connection.statement("SELECT value FROM meta WHERE name=?1"));
  STRAKE_TRY(const bool row, query->bind(1, name).step());
  if (!row) return error(Code::kCorrupt, "the store's table 'meta' has no row '{}'", name);
  const std::int64_t value = query->integer(0);
  query->reset();
  return value;
}

Status write_meta(sqlite::Connection& connection, std::string_view name, std::int64_t value) {
  STRAKE_TRY(sqlite::Statement* const update, connection.statement("UPDATE meta SET value=?2 WHERE name=?1"));
  return update->bind(1, name).bind(2, value).run();
}

}  // namespace strake::apistore
