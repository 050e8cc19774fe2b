#include <algorithm>
#include <span>

#include "packages/big_endian.h"
#include "packages/packages.h"
#include "packages/rpm_header.h"
#include "packages/sqlite_file.h"

namespace strake::packages {
namespace {

constexpr std::string_view kPackagesTable = "Packages";
constexpr std::string_view kNdbMagic = "RpmP";
constexpr std::size_t kBerkeleyMagicAt = 12;
constexpr std::uint32_t kBerkeleyMagics[] = {0x00061561, 0x00053162, 0x00042253,
                                             0x00074582};  // hash, tree, queue, heap

bool is_berkeley_database(std::string_view bytes) {
  if (bytes.size() < kBerkeleyMagicAt + 4) return false;
  const std::uint32_t magic = big_endian_32(bytes, kBerkeleyMagicAt);
  // Written in the byte order of the machine that made it.
  const std::uint32_t swapped = magic >> 24 | (magic >> 8 & 0xff00) | (magic << 8 & 0xff0000) | magic << 24;
  return std::ranges::any_of(kBerkeleyMagics, [&](std::uint32_t known) { return magic == known || swapped == known; });
}

}  // namespace

Result<std::vector<Package>> read_rpm_database(std::string_view bytes) {
  if (is_berkeley_database(bytes)) {
    return error(
        Code::kUnsupported,
        "an rpm database in the Berkeley DB format is not read; only SQLite databases are (rpm 4.16 and newer)");
  }
  if (bytes.starts_with(kNdbMagic)) {
    return error(Code::kUnsupported, "an rpm database in the ndb format is not read; only SQLite databases are");
  }
  STRAKE_TRY_CONTEXT(const SqliteFile file, SqliteFile::open(bytes), "reading an rpm database");
  STRAKE_TRY_CONTEXT(const auto tables, file.tables(), "reading an rpm database");
  const auto table = std::ranges::find(tables, kPackagesTable, &SqliteTable::name);
  if (table == tables.end()) {
    return error(Code::kCorrupt, "an rpm database without a table {}{}", kPackagesTable,
                 file.write_ahead_log() ? "; it may still be in the journal beside it (rpmdb.sqlite-wal)" : "");
  }
  std::vector<Package> packages;
  Status read = file.for_each_row(*table, [&](std::int64_t row, std::span<const SqliteValue> values) -> Status {
    if (values.size() < 2 || values[1].type != SqliteValue::Type::kBlob) {
      return error(Code::kCorrupt, "row {} holds no rpm header", row);
    }
    if (packages.size() == kMaxPackages) return error(Code::kExhausted, "more than {} packages", kMaxPackages);
    STRAKE_TRY_CONTEXT(Package package, package_of_rpm_header(values[1].bytes), "row {}", row);
    packages.push_back(std::move(package));
    return {};
  });
  if (!read.ok()) return std::move(read).context("reading an rpm database").error();
  sort_packages(PackageSystem::kRpm, packages);
  return packages;
}

}  // namespace strake::packages
