// SqliteFile: reads tables of an SQLite database file, as https://www.sqlite.org/fileformat2.html describes it.
//
// A database found in an OS image was written by somebody else, and SQLite itself promises little for a file made to
// harm it. This reader knows tables and rows and nothing more: no SQL, no index, no writing, no journal (a file in WAL
// mode is read as it stands). Every page is visited at most once and its cells do not overlap, so the work is bounded
// by the size of the file.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace strake::packages {

inline constexpr std::uint64_t kMaxSqliteRowBytes = 256u << 20;  ///< more than the largest header rpm accepts
inline constexpr std::size_t kMaxSqliteColumns = 2000;           ///< as SQLite itself is built
inline constexpr std::size_t kMaxSqliteTables = 10'000;
inline constexpr int kMaxSqliteDepth = 20;  ///< a table of 2^64 rows has fewer levels of pages

struct SqliteValue {
  enum class Type { kNull, kInteger, kReal, kText, kBlob };

  Type type = Type::kNull;
  std::int64_t integer = 0;
  double real = 0;
  std::string_view bytes = {};  ///< of text and blobs
};

struct SqliteTable {
  std::string name;
  std::string sql;  ///< the statement that made it
  std::uint32_t root_page = 0;
};

class SqliteFile {
 public:
  /// `bytes` must outlive the reader. Anything but an SQLite 3 database with UTF-8 text is an error.
  static Result<SqliteFile> open(std::string_view bytes);

  bool write_ahead_log() const { return write_ahead_log_; }  ///< newer rows may be in a file beside this one

  /// Ordinary tables; no views, virtual tables or indexes.
  Result<std::vector<SqliteTable>> tables() const;

  /// Values are valid during the call only. An INTEGER PRIMARY KEY is stored as null: the row id is its value.
  using EachRow = std::function<Status(std::int64_t row_id, std::span<const SqliteValue> values)>;

  /// In the order of row ids. Damage is kCorrupt and names the page; an error of `each` ends the walk.
  Status for_each_row(const SqliteTable& table, const EachRow& each) const;

 private:
  class Walk;

  explicit SqliteFile(std::string_view bytes) : bytes_(bytes) {}

  std::string_view page(std::uint32_t number) const;  ///< without the bytes at its end that are reserved

  std::string_view bytes_;
  std::uint32_t page_bytes_ = 0;
  std::uint32_t usable_bytes_ = 0;
  std::uint32_t pages_ = 0;
  bool write_ahead_log_ = false;
};

}  // namespace strake::packages
