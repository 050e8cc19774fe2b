#include "configserver/caller_log.h"

#include "base/text.h"

namespace strake::configserver {

void CallerLog::record(const ConfigRequest& request, std::chrono::sys_seconds now) {
  stub::Caller caller;
  caller.address = address_of(request.caller);
  caller.pool = clip_utf8(request.pool, stub::kMaxCallerText);
  caller.known_pool = request.known_pool;
  caller.reason = to_string(request.outcome);
  if (request.standing) caller.standing = stub::to_string(*request.standing);
  caller.credential = clip_utf8(request.credential, stub::kMaxCallerText);
  if (request.version) caller.version = ignition::to_string(*request.version);
  caller.last = now;
  Key key{address_group(caller.address), caller.known_pool ? caller.pool : "", caller.reason, caller.standing,
          caller.credential};
  const std::scoped_lock lock(mutex_);
  ++changes_;
  if (const auto known = by_key_.find(key); known != by_key_.end()) {
    caller.times = known->second->second.times + 1;
    known->second->second = std::move(caller);
    entries_.splice(entries_.begin(), entries_, known->second);
    return;
  }
  entries_.emplace_front(key, std::move(caller));
  by_key_.emplace(std::move(key), entries_.begin());
  if (entries_.size() <= stub::kMaxCallers) return;
  by_key_.erase(entries_.back().first);
  entries_.pop_back();
}

std::vector<stub::Caller> CallerLog::newest() const {
  const std::scoped_lock lock(mutex_);
  std::vector<stub::Caller> callers;
  callers.reserve(entries_.size());
  for (const auto& [key, caller] : entries_) callers.push_back(caller);
  return callers;
}

std::uint64_t CallerLog::changes() const {
  const std::scoped_lock lock(mutex_);
  return changes_;
}

}  // namespace strake::configserver
