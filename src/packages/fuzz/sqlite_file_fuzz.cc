// Any bytes: rows in ascending order that hold no more than the file does, or damage. The same bytes as an rpm
// database.
#include <cstdint>
#include <optional>

#include "packages/packages.h"
#include "packages/sqlite_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strake;
  using namespace strake::packages;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto file = SqliteFile::open(bytes);
  if (!file.ok()) return 0;
  const auto tables = file->tables();
  if (!tables.ok()) return 0;
  for (const SqliteTable& table : *tables) {
    std::size_t total = 0;
    std::optional<std::int64_t> last;
    const Status walked =
        file->for_each_row(table, [&](std::int64_t row, std::span<const SqliteValue> values) -> Status {
          STRAKE_INVARIANT(!last || row > *last);
          last = row;
          STRAKE_INVARIANT(values.size() <= kMaxSqliteColumns);
          for (const SqliteValue& value : values) total += value.bytes.size();
          STRAKE_INVARIANT(total <= bytes.size());
          return {};
        });
    if (tables->size() > 100) break;
    (void)walked.ok();
  }
  (void)read_rpm_database(bytes).ok();
  return 0;
}
