#include "packages/sqlite_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <utility>

#include "packages/big_endian.h"

namespace strake::packages {
namespace {

constexpr std::size_t kFileHeaderBytes = 100;
constexpr std::string_view kSqliteMagic("SQLite format 3\0", 16);
constexpr std::uint32_t kMinUsableBytes = 480;
constexpr std::uint32_t kUtf8 = 1;
constexpr std::uint32_t kSchemaRoot = 1;

constexpr std::uint8_t kInteriorTable = 5;
constexpr std::uint8_t kLeafTable = 13;
constexpr std::uint8_t kInteriorIndex = 2;
constexpr std::uint8_t kLeafIndex = 10;

std::uint8_t byte_at(std::string_view bytes, std::size_t at) { return static_cast<std::uint8_t>(bytes[at]); }

/// Up to nine bytes, seven bits each, the highest first; the ninth gives eight.
std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 9 && i < bytes.size(); ++i) {
    const std::uint8_t byte = byte_at(bytes, i);
    if (i == 8) {
      value = value << 8 | byte;
    } else {
      value = value << 7 | (byte & 0x7f);
    }
    if (i == 8 || byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

std::int64_t signed_integer(std::string_view bytes) {
  // The first byte carries the sign; an empty integer is 0.
  std::uint64_t value = !bytes.empty() && byte_at(bytes, 0) >= 0x80 ? ~std::uint64_t{0} : 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) value = value << 8 | byte_at(bytes, i);
  return static_cast<std::int64_t>(value);
}

std::uint64_t content_bytes(std::uint64_t serial_type) {
  constexpr std::array<std::uint8_t, 10> kFixed{0, 1, 2, 3, 4, 6, 8, 8, 0, 0};
  return serial_type < kFixed.size() ? kFixed[serial_type] : (serial_type - 12) / 2;
}

SqliteValue decode_value(std::uint64_t serial_type, std::string_view content) {
  using Type = SqliteValue::Type;
  switch (serial_type) {
    case 0: return {};
    case 7: return {.type = Type::kReal, .real = std::bit_cast<double>(signed_integer(content))};
    case 8: return {.type = Type::kInteger, .integer = 0};
    case 9: return {.type = Type::kInteger, .integer = 1};
    default: break;
  }
  if (serial_type < 7) return {.type = Type::kInteger, .integer = signed_integer(content)};
  return {.type = serial_type % 2 == 0 ? Type::kBlob : Type::kText, .bytes = content};
}

/// A record: the length of its header, a type for each column, then the contents in that order.
Status decode_record(std::string_view record, std::vector<SqliteValue>& values) {
  values.clear();
  std::string_view types = record;
  const auto header_bytes = take_varint(types);
  const std::size_t length_bytes = record.size() - types.size();
  if (!header_bytes || *header_bytes < length_bytes || *header_bytes > record.size()) {
    return error(Code::kCorrupt, "the record's header does not fit into its {} bytes", record.size());
  }
  types = record.substr(length_bytes, *header_bytes - length_bytes);
  std::string_view contents = record.substr(*header_bytes);
  while (!types.empty()) {
    const auto type = take_varint(types);
    if (!type || *type == 10 || *type == 11) return error(Code::kCorrupt, "column {} has no type", values.size());
    const std::uint64_t size = content_bytes(*type);
    if (size > contents.size()) {
      return error(Code::kCorrupt, "column {} has {} bytes, but {} are left of the record", values.size(), size,
                   contents.size());
    }
    if (values.size() == kMaxSqliteColumns) {
      return error(Code::kExhausted, "the record has more than {} columns", kMaxSqliteColumns);
    }
    values.push_back(decode_value(*type, contents.substr(0, size)));
    contents.remove_prefix(size);
  }
  return {};
}

}  // namespace

Result<SqliteFile> SqliteFile::open(std::string_view bytes) {
  if (!bytes.starts_with(kSqliteMagic) || bytes.size() < kFileHeaderBytes) {
    return error(Code::kCorrupt, "not an SQLite database: {}",
                 bytes.empty() ? "it is empty" : "it does not begin as one");
  }
  SqliteFile file(bytes);
  const std::uint32_t page_field = big_endian_16(bytes, 16);
  file.page_bytes_ = page_field == 1 ? 65536 : page_field;
  if (!std::has_single_bit(file.page_bytes_) || file.page_bytes_ < 512) {
    return error(Code::kCorrupt, "SQLite database with pages of {} bytes", file.page_bytes_);
  }
  const std::uint8_t read_version = byte_at(bytes, 19);
  if (read_version < 1 || read_version > 2) {
    return error(Code::kUnsupported, "SQLite database of file format version {}", read_version);
  }
  file.write_ahead_log_ = read_version == 2;
  file.usable_bytes_ = file.page_bytes_ - byte_at(bytes, 20);
  if (file.usable_bytes_ < kMinUsableBytes) {
    return error(Code::kCorrupt, "SQLite database with {} usable bytes a page, {} are the least", file.usable_bytes_,
                 kMinUsableBytes);
  }
  if (bytes.substr(21, 3) != "\x40\x20\x20") {
    return error(Code::kCorrupt, "SQLite database with other payload fractions than 64, 32, 32");
  }
  if (const std::uint32_t encoding = big_endian_32(bytes, 56); encoding != kUtf8) {
    return error(Code::kUnsupported, "SQLite database with text encoding {}, only 1 (UTF-8) is read", encoding);
  }
  file.pages_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes.size() / file.page_bytes_, UINT32_MAX - 1));
  // The count of pages counts only when the same program wrote it that wrote last.
  const bool count_is_current = big_endian_32(bytes, 24) == big_endian_32(bytes, 92);
  if (const std::uint32_t promised = big_endian_32(bytes, 28); count_is_current && promised > file.pages_) {
    return error(Code::kCorrupt, "SQLite database cut short: {} of {} pages are there", file.pages_, promised);
  }
  if (file.pages_ == 0) return error(Code::kCorrupt, "SQLite database cut short: its first page is not whole");
  return file;
}

std::string_view SqliteFile::page(std::uint32_t number) const {
  return bytes_.substr(std::uint64_t{number - 1} * page_bytes_, usable_bytes_);
}

/// One walk through the pages of a table, in the order of its rows.
class SqliteFile::Walk {
 public:
  Walk(const SqliteFile& file, const EachRow& each)
      : file_(file), each_(each), visited_(file.pages_ + std::size_t{1}) {}

  Status visit(std::uint32_t number, int depth);

 private:
  struct Page {
    std::uint32_t number;
    std::string_view bytes;
    std::size_t header_at;
    std::uint8_t type;
    std::uint32_t cells;
    std::uint64_t cell_bytes = 0;  ///< of the cells seen so far
  };

  Result<std::string_view> enter(std::uint32_t number);
  Result<std::string_view> cell(Page& page, std::uint32_t index) const;
  Status count_cell(Page& page, std::size_t cell_bytes) const;
  Status visit_interior(Page& page, int depth);
  Status visit_leaf(Page& page);
  Status visit_row(Page& page, std::uint32_t index);
  Status read_overflow(std::uint32_t first, std::uint64_t whole_bytes);

  const SqliteFile& file_;
  const EachRow& each_;
  std::vector<bool> visited_;
  std::optional<std::int64_t> last_row_;
  std::string overflowing_;  ///< the row at hand, where it is spread over several pages
  std::vector<SqliteValue> values_;
};

Result<std::string_view> SqliteFile::Walk::enter(std::uint32_t number) {
  if (number == 0 || number > file_.pages_) {
    return error(Code::kCorrupt, "there is no page {}: the database has {}", number, file_.pages_);
  }
  if (visited_[number]) return error(Code::kCorrupt, "page {} is used twice", number);
  visited_[number] = true;
  return file_.page(number);
}

Status SqliteFile::Walk::visit(std::uint32_t number, int depth) {
  if (depth == kMaxSqliteDepth) return error(Code::kCorrupt, "page {} is more than {} levels down", number, depth);
  STRAKE_TRY(const std::string_view bytes, enter(number));
  const std::size_t header_at = number == kSchemaRoot ? kFileHeaderBytes : 0;
  Page page{.number = number,
            .bytes = bytes,
            .header_at = header_at,
            .type = byte_at(bytes, header_at),
            .cells = big_endian_16(bytes, header_at + 3)};
  switch (page.type) {
    case kInteriorTable: return visit_interior(page, depth);
    case kLeafTable: return visit_leaf(page);
    case kInteriorIndex:
    case kLeafIndex: return error(Code::kUnsupported, "page {} is of an index or of a table without row ids", number);
    default: return error(Code::kCorrupt, "page {} is of no known type ({})", number, page.type);
  }
}

Result<std::string_view> SqliteFile::Walk::cell(Page& page, std::uint32_t index) const {
  const std::size_t pointers_at = page.header_at + (page.type == kInteriorTable ? 12 : 8);
  const std::size_t pointers_end = pointers_at + std::size_t{2} * page.cells;
  if (pointers_end > page.bytes.size()) {
    return error(Code::kCorrupt, "page {} has no room for {} cells", page.number, page.cells);
  }
  const std::size_t at = big_endian_16(page.bytes, pointers_at + std::size_t{2} * index);
  if (at < pointers_end || at >= page.bytes.size()) {
    return error(Code::kCorrupt, "cell {} of page {} begins at byte {}, outside of its page", index, page.number, at);
  }
  return page.bytes.substr(at);
}

/// Cells that share bytes would let a small file hold any amount of rows.
Status SqliteFile::Walk::count_cell(Page& page, std::size_t cell_bytes) const {
  page.cell_bytes += cell_bytes;
  if (page.cell_bytes > page.bytes.size()) return error(Code::kCorrupt, "cells of page {} overlap", page.number);
  return {};
}

Status SqliteFile::Walk::visit_interior(Page& page, int depth) {
  for (std::uint32_t i = 0; i < page.cells; ++i) {
    STRAKE_TRY(const std::string_view bytes, cell(page, i));
    if (bytes.size() < 5) return error(Code::kCorrupt, "cell {} of page {} is cut short", i, page.number);
    STRAKE_CHECK_OK(count_cell(page, 5));
    STRAKE_CHECK_OK(visit(big_endian_32(bytes, 0), depth + 1));
  }
  return visit(big_endian_32(page.bytes, page.header_at + 8), depth + 1);
}

Status SqliteFile::Walk::visit_leaf(Page& page) {
  for (std::uint32_t i = 0; i < page.cells; ++i) STRAKE_CHECK_OK(visit_row(page, i));
  return {};
}

Status SqliteFile::Walk::visit_row(Page& page, std::uint32_t index) {
  STRAKE_TRY(const std::string_view whole_cell, cell(page, index));
  std::string_view rest = whole_cell;
  const auto record_bytes = take_varint(rest);
  const auto row_id = record_bytes ? take_varint(rest) : std::nullopt;
  if (!row_id) return error(Code::kCorrupt, "cell {} of page {} is cut short", index, page.number);
  const auto row = static_cast<std::int64_t>(*row_id);
  if (last_row_ && row <= *last_row_) {
    return error(Code::kCorrupt, "row {} on page {} comes after row {}", row, page.number, *last_row_);
  }
  last_row_ = row;
  if (*record_bytes > kMaxSqliteRowBytes) {
    return error(Code::kExhausted, "row {} has {} bytes, the limit is {}", row, *record_bytes, kMaxSqliteRowBytes);
  }

  // How much of a record stays in its page is a fixed function of its size.
  const std::uint64_t usable = file_.usable_bytes_;
  const std::uint64_t most = usable - 35;
  std::uint64_t local = *record_bytes;
  if (local > most) {
    const std::uint64_t least = (usable - 12) * 32 / 255 - 23;
    local = least + (*record_bytes - least) % (usable - 4);
    if (local > most) local = least;
  }
  const bool overflows = local < *record_bytes;
  if (local + (overflows ? 4 : 0) > rest.size()) {
    return error(Code::kCorrupt, "row {} does not fit into page {}", row, page.number);
  }
  STRAKE_CHECK_OK(count_cell(page, whole_cell.size() - rest.size() + local));
  std::string_view record = rest.substr(0, local);
  if (overflows) {
    overflowing_.assign(record);
    STRAKE_CHECK_OK(read_overflow(big_endian_32(rest, local), *record_bytes).context("row {}", row));
    record = overflowing_;
  }
  STRAKE_CHECK_OK(decode_record(record, values_).context("row {}", row));
  return each_(row, values_);
}

Status SqliteFile::Walk::read_overflow(std::uint32_t first, std::uint64_t whole_bytes) {
  for (std::uint32_t number = first; overflowing_.size() < whole_bytes;) {
    STRAKE_TRY(const std::string_view bytes, enter(number));
    overflowing_ += bytes.substr(4, whole_bytes - overflowing_.size());
    number = big_endian_32(bytes, 0);
  }
  return {};
}

Status SqliteFile::for_each_row(const SqliteTable& table, const EachRow& each) const {
  return Walk(*this, each).visit(table.root_page, 0).context("table {}", table.name);
}

Result<std::vector<SqliteTable>> SqliteFile::tables() const {
  std::vector<SqliteTable> tables;
  const SqliteTable schema{.name = "sqlite_schema", .sql = "", .root_page = kSchemaRoot};
  STRAKE_CHECK_OK(for_each_row(schema, [&](std::int64_t row, std::span<const SqliteValue> values) -> Status {
    using Type = SqliteValue::Type;
    if (values.size() < 5 || values[0].type != Type::kText || values[1].type != Type::kText) {
      return error(Code::kCorrupt, "row {} describes no table or index", row);
    }
    const SqliteValue& root = values[3];
    if (values[0].bytes != "table" || root.type != Type::kInteger || root.integer == 0) return {};
    if (root.integer < 0 || root.integer > pages_) {
      return error(Code::kCorrupt, "table {} begins at page {}, which is not there", values[1].bytes, root.integer);
    }
    if (tables.size() == kMaxSqliteTables) return error(Code::kExhausted, "more than {} tables", kMaxSqliteTables);
    tables.push_back({.name = std::string(values[1].bytes),
                      .sql = std::string(values[4].bytes),
                      .root_page = static_cast<std::uint32_t>(root.integer)});
    return {};
  }));
  return tables;
}

}  // namespace strake::packages
