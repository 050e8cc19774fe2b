// SQLite behind two handles that close themselves; failures carry SQLite's own words.
//
// A Connection is used by one task at a time (it is opened without SQLite's mutexes); the store sees to that.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace strake::apistore::sqlite {

/// One prepared statement. Parameters and columns count from 1 and 0, as in SQLite.
class Statement {
 public:
  Statement(sqlite3* connection, sqlite3_stmt* handle) : connection_(connection), handle_(handle) {}
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement();

  /// The bytes must outlive the next step(): they are not copied.
  Statement& bind(int index, std::string_view text);
  Statement& bind(int index, std::int64_t number);
  Statement& bind_null(int index);

  /// True when a row is there to be read. A statement that ended, well or not, may be bound and stepped anew.
  Result<bool> step();
  /// For statements without rows.
  Status run();
  /// Ends a statement whose rows were not all read.
  void reset();

  std::int64_t integer(int column) const;
  /// Valid until the next step() or reset().
  std::string_view text(int column) const;
  bool is_null(int column) const;

 private:
  sqlite3* connection_;
  sqlite3_stmt* handle_;
  std::optional<Error> bind_error_;
};

enum class Mode { kReadWriteCreate, kReadOnly };

class Connection {
 public:
  /// ":memory:" opens a private database in memory.
  static Result<std::unique_ptr<Connection>> open(const std::filesystem::path& path, Mode mode);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  /// One or more statements without parameters.
  Status execute(const std::string& sql);
  /// Prepared once, kept for the life of the connection. `sql` is identified by its address: give a literal or a
  /// constant.
  Result<Statement*> statement(const char* sql);
  /// A statement without parameters and rows, prepared once like statement().
  Status run(const char* sql);
  /// The first column of the first row, as a number or text.
  Result<std::int64_t> query_integer(const std::string& sql);
  Result<std::string> query_text(const std::string& sql);
  /// The first column of every row; of a query that fails, of the rows before.
  Status query_texts(const std::string& sql, std::vector<std::string>& texts);
  /// What runs on this connection ends with kCancelled. The one call that another task may make.
  void interrupt();

  bool in_transaction() const;
  /// While set, closing leaves the write-ahead log where it is instead of folding it into the database.
  void keep_log_on_close(bool keep);

 private:
  explicit Connection(sqlite3* handle) : handle_(handle) {}

  sqlite3* handle_;
  std::map<const char*, std::unique_ptr<Statement>> statements_;
};

}  // namespace strake::apistore::sqlite
