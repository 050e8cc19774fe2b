#include "packages/testing/database_builder.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/result.h"

namespace strake::packages {

DatabaseBuilder::DatabaseBuilder(int page_bytes, int reserved_bytes) {
  STRAKE_INVARIANT(sqlite3_open(":memory:", &database_) == SQLITE_OK);
  if (reserved_bytes > 0) {
    STRAKE_INVARIANT(sqlite3_file_control(database_, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved_bytes) == SQLITE_OK);
  }
  run(fmt::format("PRAGMA page_size = {}", page_bytes));
}

DatabaseBuilder::~DatabaseBuilder() { sqlite3_close(database_); }

void DatabaseBuilder::run(const std::string& sql) {
  STRAKE_INVARIANT(sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
}

void DatabaseBuilder::insert(const std::string& table, std::int64_t row_id, std::string_view blob) {
  sqlite3_stmt* statement = nullptr;
  const std::string sql = fmt::format("INSERT INTO {} VALUES (?, ?)", table);
  STRAKE_INVARIANT(sqlite3_prepare_v2(database_, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK);
  sqlite3_bind_int64(statement, 1, row_id);
  sqlite3_bind_blob64(statement, 2, blob.data(), blob.size(), SQLITE_STATIC);
  STRAKE_INVARIANT(sqlite3_step(statement) == SQLITE_DONE);
  sqlite3_finalize(statement);
}

std::string DatabaseBuilder::bytes() {
  sqlite3_int64 size = 0;
  unsigned char* data = sqlite3_serialize(database_, "main", &size, 0);
  STRAKE_INVARIANT(data != nullptr);
  std::string bytes(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
  sqlite3_free(data);
  return bytes;
}

std::string big_endian_bytes(std::uint64_t value, std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = size; i-- > 0; value >>= 8) bytes[i] = static_cast<char>(value & 0xff);
  return bytes;
}

RpmHeaderBuilder& RpmHeaderBuilder::raw(std::uint32_t tag, std::uint32_t type, std::uint32_t count,
                                        std::string_view values) {
  for (const std::uint64_t field :
       {std::uint64_t{tag}, std::uint64_t{type}, std::uint64_t{store_.size()}, std::uint64_t{count}}) {
    index_ += big_endian_bytes(field, 4);
  }
  store_ += values;
  ++entries_;
  return *this;
}

RpmHeaderBuilder& RpmHeaderBuilder::text(RpmTag tag, std::string_view value) {
  return raw(static_cast<std::uint32_t>(tag), 6, 1, std::string(value) + '\0');
}

RpmHeaderBuilder& RpmHeaderBuilder::number(RpmTag tag, std::uint32_t value) {
  return raw(static_cast<std::uint32_t>(tag), 4, 1, big_endian_bytes(value, 4));
}

RpmHeaderBuilder& RpmHeaderBuilder::long_number(RpmTag tag, std::uint64_t value) {
  return raw(static_cast<std::uint32_t>(tag), 5, 1, big_endian_bytes(value, 8));
}

std::string RpmHeaderBuilder::bytes() const {
  return big_endian_bytes(entries_, 4) + big_endian_bytes(store_.size(), 4) + index_ + store_;
}

}  // namespace strake::packages
