// The store's SQLite file: its tables, their migrations, and the checks before a file is trusted.
//
//   objects  what exists now: one row per object, its JSON text whole
//   history  one row per revision: what it wrote and what was there before; feeds watches that resume and lists of a
//   past moment meta     revision, compacted (history up to this revision is gone), clean (1 between a good stop and
//   the next start)
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "apistore/store/sqlite.h"
#include "base/result.h"

namespace strake::apistore {

/// The script at index i brings a database from user_version i to i + 1. Scripts are never changed once released.
std::span<const char* const> database_migrations();

/// What a person does about a damaged file.
inline constexpr std::string_view kDamageAdvice =
    "stop the program, then restore the directory from a backup, or move it away to begin anew";

/// Files up to this size are checked at every start: a fifth of a second for all of them on a machine of 2020. Larger
/// ones after an unclean stop only; the check in the background reads them soon after the start.
inline constexpr std::uint64_t kCheckedAtStartBytes = 256u << 20;

/// The writing connection. A new or older file is brought to the present tables; a damaged, foreign or newer one is
/// refused and left byte for byte as it was. `max_bytes` 0: no limit of our own.
Result<std::unique_ptr<sqlite::Connection>> open_database(const std::filesystem::path& path, std::uint64_t max_bytes);
Result<std::unique_ptr<sqlite::Connection>> open_memory_database(std::uint64_t max_bytes);
/// A connection that only reads; sees every commit made before its read begins.
Result<std::unique_ptr<sqlite::Connection>> open_database_reader(const std::filesystem::path& path);

/// A verdict of SQLite's checks, fit for a message.
std::string one_line(std::string_view verdict);

Result<std::int64_t> read_meta(sqlite::Connection& connection, std::string_view name);
Status write_meta(sqlite::Connection& connection, std::string_view name, std::int64_t value);

}  // namespace strake::apistore
