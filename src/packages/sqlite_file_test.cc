#include "packages/sqlite_file.h"

#include <map>

#include <gtest/gtest.h>

#include "packages/testing/database_builder.h"

namespace strake::packages::sqlite_file_test {

using Blobs = std::map<std::int64_t, std::string>;
using Type = SqliteValue::Type;

Result<Blobs> read_blobs(std::string_view bytes) {
  STRAKE_TRY(const SqliteFile file, SqliteFile::open(bytes));
  STRAKE_TRY(const auto tables, file.tables());
  Blobs blobs;
  for (const SqliteTable& table : tables) {
    if (table.name != "t") continue;
    STRAKE_CHECK_OK(file.for_each_row(table, [&](std::int64_t row, std::span<const SqliteValue> values) -> Status {
      if (values.size() != 2) return error(Code::kInternal, "{} columns", values.size());
      blobs.emplace(row, values[1].bytes);
      return {};
    }));
  }
  return blobs;
}

/// Blobs whose content tells them apart from any part of another.
std::string pattern(std::size_t size, std::size_t salt) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>((i * 31 + salt * 7 + i / 251) & 0xff);
  return text;
}

void expect_read_back(DatabaseBuilder& database, const Blobs& expected) {
  const std::string bytes = database.bytes();
  const auto read = read_blobs(bytes);
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_TRUE(*read == expected);
}

TEST(SqliteFile, ReadsEverySizeAroundWhereRowsLeaveTheirPage) {
  struct Case {
    int page_bytes, reserved_bytes;
  };
  for (const auto& [page_bytes, reserved_bytes] :
       {Case{512, 0}, {512, 32}, {1024, 0}, {4096, 0}, {4096, 255}, {65536, 0}}) {
    SCOPED_TRACE(fmt::format("pages of {} bytes, {} reserved", page_bytes, reserved_bytes));
    DatabaseBuilder database(page_bytes, reserved_bytes);
    database.run("CREATE TABLE t (id INTEGER PRIMARY KEY, blob BLOB)");
    Blobs expected;
    const auto usable = static_cast<std::size_t>(page_bytes - reserved_bytes);
    std::int64_t row = -20;
    for (const std::size_t around : {std::size_t{16}, usable / 8, usable - 35, usable, 2 * usable, 5 * usable}) {
      for (std::size_t size = around - 10; size < around + 10; ++size, row += 3) {
        expected[row] = pattern(size, static_cast<std::size_t>(row + 1000));
        database.insert("t", row, expected[row]);
      }
    }
    expect_read_back(database, expected);
  }
}

TEST(SqliteFile, ReadsTablesOfSeveralLevelsWithHoles) {
  DatabaseBuilder database(512);
  database.run(
      "CREATE TABLE t (id INTEGER PRIMARY KEY, blob BLOB); CREATE TABLE other (x); CREATE INDEX i ON t (blob)");
  database.run("BEGIN");
  Blobs expected;
  for (std::int64_t row = 1; row <= 4000; ++row) {
    expected[row] = pattern(static_cast<std::size_t>(row % 90), static_cast<std::size_t>(row));
    database.insert("t", row, expected[row]);
  }
  database.run("COMMIT");
  expect_read_back(database, expected);
  database.run("DELETE FROM t WHERE id % 3 = 0 OR id BETWEEN 1000 AND 2500");
  std::erase_if(expected,
                [](const auto& row) { return row.first % 3 == 0 || (row.first >= 1000 && row.first <= 2500); });
  expect_read_back(database, expected);
  database.run("VACUUM");
  expect_read_back(database, expected);
  database.run("DELETE FROM t");
  expect_read_back(database, {});
}

TEST(SqliteFile, ReadsValuesOfEveryType) {
  DatabaseBuilder database;
  database.run("CREATE TABLE v (value)");
  const std::vector<std::int64_t> integers{0,
                                           1,
                                           -1,
                                           127,
                                           -128,
                                           128,
                                           32767,
                                           -32768,
                                           8388607,
                                           -8388608,
                                           2147483647,
                                           -2147483648LL,
                                           140737488355327,
                                           -140737488355328,
                                           INT64_MAX,
                                           INT64_MIN};
  for (const std::int64_t integer : integers) {
    database.run(integer == INT64_MIN ? "INSERT INTO v VALUES (-9223372036854775807 - 1)"
                                      : fmt::format("INSERT INTO v VALUES ({})", integer));
  }
  database.run("INSERT INTO v VALUES (NULL), (-2.5), ('gr\xc3\xbc\xc3\x9f'), (x'00ff'), (''), (x'')");
  const std::string bytes = database.bytes();
  const auto file = SqliteFile::open(bytes);
  ASSERT_TRUE(file.ok());
  const auto tables = file->tables();
  ASSERT_TRUE(tables.ok());
  ASSERT_EQ(tables->size(), 1u);
  EXPECT_EQ(tables->front().sql, "CREATE TABLE v (value)");
  std::vector<std::pair<Type, std::string>> seen;
  const Status read =
      file->for_each_row(tables->front(), [&](std::int64_t, std::span<const SqliteValue> values) -> Status {
        const SqliteValue& value = values[0];
        seen.emplace_back(value.type, value.type == Type::kInteger ? std::to_string(value.integer)
                                      : value.type == Type::kReal  ? std::to_string(value.real)
                                                                   : std::string(value.bytes));
        return {};
      });
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  std::vector<std::pair<Type, std::string>> expected;
  for (const std::int64_t integer : integers) expected.emplace_back(Type::kInteger, std::to_string(integer));
  expected.insert(expected.end(), {{Type::kNull, ""},
                                   {Type::kReal, "-2.500000"},
                                   {Type::kText, "gr\xc3\xbc\xc3\x9f"},
                                   {Type::kBlob, std::string("\0\xff", 2)},
                                   {Type::kText, ""},
                                   {Type::kBlob, ""}});
  EXPECT_EQ(seen, expected);
}

/// Page 1: the schema; page 2: the root of t, interior; the others: leaves and overflow pages.
std::string small_database() {
  DatabaseBuilder database(512);
  database.run("CREATE TABLE t (id INTEGER PRIMARY KEY, blob BLOB)");
  for (std::int64_t row = 1; row <= 4; ++row) database.insert("t", row, pattern(300, static_cast<std::size_t>(row)));
  database.insert("t", 5, pattern(1500, 5));
  return database.bytes();
}

std::string with_bytes(std::string bytes, std::size_t at, std::string_view replacement) {
  return bytes.replace(at, replacement.size(), replacement);
}

TEST(SqliteFile, ReadsAFileInWalModeAsItStands) {
  const std::string bytes = with_bytes(small_database(), 18, "\x02\x02");
  const auto file = SqliteFile::open(bytes);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->write_ahead_log());
  const auto read = read_blobs(bytes);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->size(), 5u);
}

TEST(SqliteFile, RefusesWhatIsNotOne) {
  const std::string whole = small_database();
  const std::size_t root = 512;  // page 2
  ASSERT_EQ(whole[root], 5) << "the root of t is expected to be an interior page";
  const std::size_t first_child_cell =
      root + static_cast<std::uint8_t>(whole[root + 12]) * 256u + static_cast<std::uint8_t>(whole[root + 13]);
  const auto first_leaf = static_cast<std::size_t>(static_cast<std::uint8_t>(whole[first_child_cell + 3]) - 1) * 512;
  ASSERT_EQ(whole[first_leaf], 13);
  const std::string first_pointer = whole.substr(first_leaf + 8, 2);
  const struct {
    const char* name;
    std::string bytes;
    Code code;
    const char* says;
  } cases[] = {
      {"empty", "", Code::kCorrupt, "it is empty"},
      {"other magic", with_bytes(whole, 0, "SQLite format 4"), Code::kCorrupt, "does not begin as one"},
      {"header only", whole.substr(0, 100), Code::kCorrupt, "0 of"},
      {"cut short", whole.substr(0, 1024), Code::kCorrupt, "2 of"},
      {"page size 0", with_bytes(whole, 16, std::string(2, '\0')), Code::kCorrupt, "pages of 0 bytes"},
      {"page size 768", with_bytes(whole, 16, "\x03"), Code::kCorrupt, "pages of 768 bytes"},
      {"reserved too much", with_bytes(whole, 20, "\x21"), Code::kCorrupt, "479 usable bytes"},
      {"format version 3", with_bytes(whole, 19, "\x03"), Code::kUnsupported, "version 3"},
      {"payload fractions", with_bytes(whole, 21, "\x41"), Code::kCorrupt, "payload fractions"},
      {"UTF-16", with_bytes(whole, 59, "\x02"), Code::kUnsupported, "encoding 2"},
      {"child is its parent", with_bytes(whole, first_child_cell, std::string_view("\0\0\0\x02", 4)), Code::kCorrupt,
       "page 2 is used twice"},
      {"child is page 0", with_bytes(whole, first_child_cell, std::string(4, '\0')), Code::kCorrupt, "no page 0"},
      {"child is not there", with_bytes(whole, first_child_cell, "\x7f"), Code::kCorrupt, "there is no page 21307"},
      {"last child is not there", with_bytes(whole, root + 8, "\xff\xff\xff\xff"), Code::kCorrupt,
       "no page 4294967295"},
      {"leaf of an index", with_bytes(whole, first_leaf, "\x0a"), Code::kUnsupported, "of an index"},
      {"no known page", with_bytes(whole, first_leaf, "\x07"), Code::kCorrupt, "no known type (7)"},
      {"too many cells", with_bytes(whole, first_leaf + 3, "\x7f"), Code::kCorrupt, "no room for 32"},
      {"cell in the header", with_bytes(whole, first_leaf + 8, std::string(2, '\0')), Code::kCorrupt,
       "begins at byte 0"},
      {"cell behind the page", with_bytes(whole, first_leaf + 8, "\x7f"), Code::kCorrupt, "outside of its page"},
      {"a cell twice",
       with_bytes(with_bytes(whole, first_leaf + 3, std::string_view("\0\x02", 2)), first_leaf + 10, first_pointer),
       Code::kCorrupt, "comes after row"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    const auto read = read_blobs(test.bytes);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code(), test.code) << read.error().to_string();
    EXPECT_NE(read.error().to_string().find(test.says), std::string::npos) << read.error().to_string();
  }
}

TEST(SqliteFile, RefusesCellsThatOverlap) {
  DatabaseBuilder database(512);
  database.run("CREATE TABLE t (id INTEGER PRIMARY KEY, blob BLOB)");
  database.insert("t", 1, pattern(400, 1));
  std::string bytes = database.bytes();
  // A second cell, row 2, inside the blob of the first: its record reaches as far as the first one does.
  const std::size_t leaf = 512;
  ASSERT_EQ(bytes[leaf], 13);
  const std::size_t second = 512 - 300;
  bytes.replace(leaf + 3, 2, big_endian_bytes(2, 2));
  bytes.replace(leaf + 10, 2, big_endian_bytes(second, 2));
  // 296 bytes as a varint, row 2, then a record of a null and a blob of 292 bytes.
  bytes.replace(leaf + second, 7, std::string_view("\x82\x28\x02\x04\x00\x84\x54", 7));
  const auto read = read_blobs(bytes);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().to_string().find("cells of page 2 overlap"), std::string::npos) << read.error().to_string();
}

TEST(SqliteFile, AnErrorOfTheCallerEndsTheWalk) {
  const std::string bytes = small_database();
  const auto file = SqliteFile::open(bytes);
  ASSERT_TRUE(file.ok());
  const auto tables = file->tables();
  ASSERT_TRUE(tables.ok());
  int rows = 0;
  const Status read = file->for_each_row(tables->front(), [&](std::int64_t, std::span<const SqliteValue>) -> Status {
    ++rows;
    return error(Code::kCancelled, "enough");
  });
  EXPECT_EQ(rows, 1);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code(), Code::kCancelled);
}

TEST(SqliteFile, SurvivesEveryFlippedBit) {
  const std::string whole = small_database();
  int refused = 0;
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    const auto read = read_blobs(damaged);
    refused += !read.ok();
    EXPECT_TRUE(!read.ok() || read->size() <= 5) << bit;
  }
  EXPECT_GT(refused, 100);
}

}  // namespace strake::packages::sqlite_file_test
