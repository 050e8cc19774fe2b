#include "apistore/store/sqlite.h"

#include <sqlite3.h>

#include <utility>

#include "apistore/store/store_health.h"

namespace strake::apistore::sqlite {

namespace {

Code code_of_sqlite(int result) {
  switch (result & 0xff) {
    case SQLITE_FULL:
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG: return Code::kExhausted;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return Code::kCorrupt;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return Code::kUnavailable;
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY: return Code::kDenied;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN: return Code::kIo;
    case SQLITE_INTERRUPT: return Code::kCancelled;
    default: return Code::kInternal;
  }
}

/// The connection's message belongs to its latest failure; a later success may have cleared it, then the code's words
/// remain.
Error sqlite_error(sqlite3* connection, int result) {
  const bool is_latest = connection != nullptr && (sqlite3_extended_errcode(connection) & 0xff) == (result & 0xff);
  std::string text = is_latest ? sqlite3_errmsg(connection) : sqlite3_errstr(result);
  Error failure(code_of_sqlite(result), fmt::format("SQLite: {} ({})", text, result));
  switch (result & 0xff) {
    case SQLITE_FULL: return std::move(failure).with_reason("StorageFull");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return std::move(failure).with_reason(std::string(kStorageDamaged));
    default: break;
  }
  switch (result) {  // others are about memory, locks and the index of the log, which say nothing about the file
    case SQLITE_IOERR_READ:
    case SQLITE_IOERR_SHORT_READ:
    case SQLITE_IOERR_WRITE:
    case SQLITE_IOERR_FSYNC:
    case SQLITE_IOERR_TRUNCATE:
    case SQLITE_IOERR_DATA:
    case SQLITE_IOERR_CORRUPTFS: return std::move(failure).with_reason(std::string(kStorageDamaged));
    default: return failure;
  }
}

}  // namespace

Statement::~Statement() { sqlite3_finalize(handle_); }

Statement& Statement::bind(int index, std::string_view text) {
  const int result =
      sqlite3_bind_text64(handle_, index, text.empty() ? "" : text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
  if (result != SQLITE_OK && !bind_error_) bind_error_ = sqlite_error(connection_, result);
  return *this;
}

Statement& Statement::bind(int index, std::int64_t number) {
  const int result = sqlite3_bind_int64(handle_, index, number);
  if (result != SQLITE_OK && !bind_error_) bind_error_ = sqlite_error(connection_, result);
  return *this;
}

Statement& Statement::bind_null(int index) {
  const int result = sqlite3_bind_null(handle_, index);
  if (result != SQLITE_OK && !bind_error_) bind_error_ = sqlite_error(connection_, result);
  return *this;
}

Result<bool> Statement::step() {
  if (bind_error_) {
    Error failure = *std::move(bind_error_);
    reset();
    return failure;
  }
  const int result = sqlite3_step(handle_);
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) {
    reset();
    return false;
  }
  Error failure = sqlite_error(connection_, result);
  reset();
  return failure;
}

Status Statement::run() {
  STRAKE_TRY(const bool row, step());
  if (row) reset();
  return {};
}

void Statement::reset() {
  sqlite3_reset(handle_);
  sqlite3_clear_bindings(handle_);
  bind_error_.reset();
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_, column); }

std::string_view Statement::text(int column) const {
  const auto* bytes = sqlite3_column_text(handle_, column);
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}

bool Statement::is_null(int column) const { return sqlite3_column_type(handle_, column) == SQLITE_NULL; }

Result<std::unique_ptr<Connection>> Connection::open(const std::filesystem::path& path, Mode mode) {
  const int access = mode == Mode::kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3* handle = nullptr;
  const int result =
      sqlite3_open_v2(path.c_str(), &handle, access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  if (result != SQLITE_OK) {
    Error failure = sqlite_error(handle, result);
    sqlite3_close_v2(handle);
    return std::move(failure).context(fmt::format("opening {}", path.string()));
  }
  return std::unique_ptr<Connection>(new Connection(handle));
}

Connection::~Connection() {
  statements_.clear();
  sqlite3_close_v2(handle_);
}

Status Connection::execute(const std::string& sql) {
  const int result = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) return sqlite_error(handle_, result);
  return {};
}

Result<Statement*> Connection::statement(const char* sql) {
  const auto found = statements_.find(sql);
  if (found != statements_.end()) {
    found->second->reset();  // whoever used it last may have left on an error
    return found->second.get();
  }
  sqlite3_stmt* handle = nullptr;
  const int result = sqlite3_prepare_v3(handle_, sql, -1, SQLITE_PREPARE_PERSISTENT, &handle, nullptr);
  if (result != SQLITE_OK) return sqlite_error(handle_, result);
  auto& kept = statements_[sql];
  kept = std::make_unique<Statement>(handle_, handle);
  return kept.get();
}

Status Connection::run(const char* sql) {
  STRAKE_TRY(Statement* const prepared, statement(sql));
  return prepared->run();
}

Result<std::int64_t> Connection::query_integer(const std::string& sql) {
  sqlite3_stmt* handle = nullptr;
  const int result = sqlite3_prepare_v2(handle_, sql.c_str(), -1, &handle, nullptr);
  if (result != SQLITE_OK) return sqlite_error(handle_, result);
  Statement query(handle_, handle);
  STRAKE_TRY(const bool row, query.step());
  if (!row) return error(Code::kCorrupt, "no answer to '{}'", sql);
  return query.integer(0);
}

Result<std::string> Connection::query_text(const std::string& sql) {
  sqlite3_stmt* handle = nullptr;
  const int result = sqlite3_prepare_v2(handle_, sql.c_str(), -1, &handle, nullptr);
  if (result != SQLITE_OK) return sqlite_error(handle_, result);
  Statement query(handle_, handle);
  STRAKE_TRY(const bool row, query.step());
  if (!row) return error(Code::kCorrupt, "no answer to '{}'", sql);
  return std::string(query.text(0));
}

Status Connection::query_texts(const std::string& sql, std::vector<std::string>& texts) {
  sqlite3_stmt* handle = nullptr;
  const int result = sqlite3_prepare_v2(handle_, sql.c_str(), -1, &handle, nullptr);
  if (result != SQLITE_OK) return sqlite_error(handle_, result);
  Statement query(handle_, handle);
  while (true) {
    STRAKE_TRY(const bool row, query.step());
    if (!row) return {};
    texts.emplace_back(query.text(0));
  }
}

void Connection::interrupt() { sqlite3_interrupt(handle_); }

bool Connection::in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }

void Connection::keep_log_on_close(bool keep) {
  // Cannot fail on an open connection: the option exists since SQLite 3.24.
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep ? 1 : 0, nullptr);
}

}  // namespace strake::apistore::sqlite
