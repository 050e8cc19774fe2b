// Connections for reading: a small pool on a file, or the writer's own under a mutex in memory.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "apistore/store/sqlite.h"
#include "apistore/store/store.h"

namespace strake::apistore {

class StoreReaders {
 public:
  /// On a file.
  StoreReaders(runtime::Runtime& runtime, std::filesystem::path path, std::size_t max_readers)
      : path_(std::move(path)), max_readers_(max_readers), freed_(runtime) {}
  /// In memory: `shared` is the writer's connection.
  StoreReaders(runtime::Runtime& runtime, sqlite::Connection& shared) : shared_(&shared), freed_(runtime) {}

  /// Runs `use` on one snapshot.
  Status read(const std::function<Status(sqlite::Connection&)>& use);
  /// Held by the leader around its transaction: in memory it excludes readers, on a file it is free.
  std::unique_lock<std::mutex> exclude();

 private:
  Result<std::unique_ptr<sqlite::Connection>> acquire();

  const std::filesystem::path path_;
  const std::size_t max_readers_ = 0;
  sqlite::Connection* shared_ = nullptr;
  std::mutex shared_mutex_;

  std::mutex mutex_;
  runtime::Condition freed_;
  std::vector<std::unique_ptr<sqlite::Connection>> idle_;
  std::size_t open_ = 0;
};

/// The queries of a snapshot.
Result<std::optional<Row>> read_row(sqlite::Connection& connection, const StoreKey& key);
/// `rows` counts those that were read, also when it fails.
Result<ListResult> read_list(sqlite::Connection& connection, const ListQuery& query, std::uint64_t& rows);
Result<std::int64_t> read_count(sqlite::Connection& connection, const ListQuery& query);
Result<HistoryChunk> read_history_chunk(sqlite::Connection& connection, const std::string& resource,
                                        const std::string& ns, Revision after, std::size_t limit);

}  // namespace strake::apistore
