// Package databases for tests: SQLite files written by SQLite itself, and rpm headers put together by hand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "packages/rpm_header.h"

struct sqlite3;

namespace strake::packages {

/// A database in memory; a statement that fails ends the test program.
class DatabaseBuilder {
 public:
  explicit DatabaseBuilder(int page_bytes = 4096, int reserved_bytes = 0);
  ~DatabaseBuilder();
  DatabaseBuilder(const DatabaseBuilder&) = delete;
  DatabaseBuilder& operator=(const DatabaseBuilder&) = delete;

  void run(const std::string& sql);
  /// INSERT INTO `table` VALUES (`row_id`, `blob`)
  void insert(const std::string& table, std::int64_t row_id, std::string_view blob);
  std::string bytes();

 private:
  sqlite3* database_ = nullptr;
};

/// The table rpm keeps its headers in.
inline constexpr const char* kCreateRpmPackages =
    "CREATE TABLE 'Packages' (hnum INTEGER PRIMARY KEY AUTOINCREMENT, blob BLOB NOT NULL)";

class RpmHeaderBuilder {
 public:
  RpmHeaderBuilder& text(RpmTag tag, std::string_view value);
  RpmHeaderBuilder& number(RpmTag tag, std::uint32_t value);
  RpmHeaderBuilder& long_number(RpmTag tag, std::uint64_t value);
  /// Any entry, right or wrong, with its values.
  RpmHeaderBuilder& raw(std::uint32_t tag, std::uint32_t type, std::uint32_t count, std::string_view values);
  std::string bytes() const;

 private:
  std::uint32_t entries_ = 0;
  std::string index_, store_;
};

std::string big_endian_bytes(std::uint64_t value, std::size_t size);

}  // namespace strake::packages
