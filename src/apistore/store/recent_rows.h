// RecentRows: objects that were written or read lately, kept in memory within a limit, so that the reads before a write
// (the object, its namespace) mostly need no database.
//
// What it answers is the newest committed state, as a read of the database would give it: a key is taken out before the
// commit that changes it begins, because from some moment in there a list may show the new state, and is put back when
// the commit is done. What was read from the database is taken in only if no commit was under way meanwhile.
#pragma once

#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "apistore/store/store_types.h"

namespace strake::apistore {

class RecentRows {
 public:
  explicit RecentRows(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  /// The moment a read of the database began; absent while a commit is under way.
  using Moment = std::optional<std::uint64_t>;
  struct Lookup {
    std::shared_ptr<const Row> row;  ///< null: ask the database
    Moment moment;
  };
  Lookup find(const StoreKey& key);
  /// What the database said, asked after `moment`.
  void learn(const StoreKey& key, const Row& row, const Moment& moment);

  /// Around each commit, by the one task that commits.
  void begin_commit(const std::vector<StoreEventPtr>& changes);
  /// `changes`: those that are now committed; none when the commit failed.
  void end_commit(const std::vector<StoreEventPtr>& changes);

 private:
  struct Entry {
    StoreKey key;
    std::shared_ptr<const Row> row;
    std::size_t size_bytes = 0;
  };

  void put_locked(const StoreKey& key, std::shared_ptr<const Row> row);
  void erase_locked(const StoreKey& key);

  const std::size_t max_bytes_;
  std::mutex mutex_;
  std::uint64_t commits_ = 0;
  bool committing_ = false;
  std::list<Entry> entries_;  ///< the one used last in front
  std::map<StoreKey, std::list<Entry>::iterator> by_key_;
  std::size_t size_bytes_ = 0;
};

}  // namespace strake::apistore
