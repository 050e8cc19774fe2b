#include "apistore/store/recent_rows.h"

namespace strake::apistore {

RecentRows::Lookup RecentRows::find(const StoreKey& key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return {nullptr, committing_ ? Moment() : Moment(commits_)};
  entries_.splice(entries_.begin(), entries_, found->second);
  return {found->second->row, std::nullopt};
}

void RecentRows::learn(const StoreKey& key, const Row& row, const Moment& moment) {
  if (!moment) return;
  auto kept = std::make_shared<const Row>(row);
  const std::lock_guard lock(mutex_);
  if (committing_ || commits_ != *moment) return;
  put_locked(key, std::move(kept));
}

void RecentRows::begin_commit(const std::vector<StoreEventPtr>& changes) {
  const std::lock_guard lock(mutex_);
  committing_ = true;
  ++commits_;
  for (const StoreEventPtr& change : changes) erase_locked(change->key);
}

void RecentRows::end_commit(const std::vector<StoreEventPtr>& changes) {
  const std::lock_guard lock(mutex_);
  committing_ = false;
  for (const StoreEventPtr& change : changes) {
    if (change->type == ChangeType::kDeleted) {
      erase_locked(change->key);
    } else {
      put_locked(change->key, std::make_shared<const Row>(Row{change->key.ns, change->key.name, change->uid,
                                                              change->revision, change->object}));
    }
  }
}

void RecentRows::put_locked(const StoreKey& key, std::shared_ptr<const Row> row) {
  erase_locked(key);
  // One object must not push out all others.
  const std::size_t size_bytes = sizeof(Entry) + sizeof(Row) + row->text.size();
  if (size_bytes > max_bytes_ / 8) return;
  entries_.push_front({key, std::move(row), size_bytes});
  by_key_[key] = entries_.begin();
  size_bytes_ += size_bytes;
  while (size_bytes_ > max_bytes_) erase_locked(StoreKey(entries_.back().key));
}

void RecentRows::erase_locked(const StoreKey& key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  size_bytes_ -= found->second->size_bytes;
  entries_.erase(found->second);
  by_key_.erase(found);
}

}  // namespace strake::apistore
