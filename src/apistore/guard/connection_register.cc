#include "apistore/guard/connection_register.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

namespace strake::apistore {

using Clock = std::chrono::system_clock;

struct ConnectionRegister::Core {
  struct Entry {
    std::shared_ptr<net::ConnectionHandle> connection;
    std::string user;
    Credential credential;
  };

  mutable std::mutex mutex;
  std::unordered_map<const net::ConnectionHandle*, Entry> entries;
  std::unordered_map<std::string, std::set<const net::ConnectionHandle*>> by_user;
  std::multiset<Clock::time_point> expiries;

  void add(Entry entry) {
    const net::ConnectionHandle* const key = entry.connection.get();
    by_user[entry.user].insert(key);
    if (entry.credential.expires) expiries.insert(*entry.credential.expires);
    entries.insert_or_assign(key, std::move(entry));
  }
  void remove(const net::ConnectionHandle* key) {
    const auto found = entries.find(key);
    if (found == entries.end()) return;
    const Entry& entry = found->second;
    if (entry.credential.expires) expiries.erase(expiries.find(*entry.credential.expires));
    const auto owner = by_user.find(entry.user);
    owner->second.erase(key);
    if (owner->second.empty()) by_user.erase(owner);
    entries.erase(found);
  }
  /// The one of a user that was idle for longest; null when all are busy.
  std::shared_ptr<net::ConnectionHandle> longest_idle(const std::string& user) const {
    std::shared_ptr<net::ConnectionHandle> oldest;
    std::int64_t oldest_since = 0;
    for (const net::ConnectionHandle* key : by_user.at(user)) {
      const std::int64_t since = key->idle_since();
      if (since == 0 || (oldest && since >= oldest_since)) continue;
      oldest_since = since;
      oldest = entries.at(key).connection;
    }
    return oldest;
  }
};

ConnectionRegister::ConnectionRegister() : core_(std::make_shared<Core>()) {}
ConnectionRegister::~ConnectionRegister() = default;

Status ConnectionRegister::admit(const std::shared_ptr<net::ConnectionHandle>& connection, const std::string& user,
                                 const Credential& credential, std::size_t limit) {
  if (!connection) return {};
  const net::ConnectionHandle* const key = connection.get();
  std::shared_ptr<net::ConnectionHandle> makes_room;
  bool is_new = false;
  {
    const std::lock_guard lock(core_->mutex);
    const auto known = core_->entries.find(key);
    is_new = known == core_->entries.end();
    if (!is_new && known->second.user == user && known->second.credential == credential) return {};
    if (!is_new) core_->remove(key);
    const auto others = core_->by_user.find(user);
    if (limit > 0 && others != core_->by_user.end() && others->second.size() >= limit) {
      makes_room = core_->longest_idle(user);
      if (!makes_room) {
        return error(Code::kExhausted, "user \"{}\" has {} connections open, as many as it may: close one first", user,
                     others->second.size())
            .with_reason("TooManyRequests")
            .with_retry_after(std::chrono::seconds(1));
      }
      core_->remove(makes_room.get());
    }
    core_->add({connection, user, credential});
  }
  if (makes_room) makes_room->cut();
  if (is_new) {
    connection->on_gone([weak = std::weak_ptr(core_), key] {
      const auto core = weak.lock();
      if (!core) return;
      const std::lock_guard lock(core->mutex);
      core->remove(key);
    });
  }
  return {};
}

std::size_t ConnectionRegister::cut_unless(const std::function<bool(const Credential&)>& counts) {
  std::vector<Core::Entry> all;
  {
    const std::lock_guard lock(core_->mutex);
    all.reserve(core_->entries.size());
    for (const auto& [key, entry] : core_->entries) all.push_back(entry);
  }
  std::size_t cut = 0;
  for (const Core::Entry& entry : all) {
    if (counts(entry.credential)) continue;
    entry.connection->cut();
    ++cut;
    const std::lock_guard lock(core_->mutex);
    core_->remove(entry.connection.get());
  }
  return cut;
}

std::optional<Clock::time_point> ConnectionRegister::next_expiry() const {
  const std::lock_guard lock(core_->mutex);
  if (core_->expiries.empty()) return std::nullopt;
  return *core_->expiries.begin();
}

std::size_t ConnectionRegister::connections() const {
  const std::lock_guard lock(core_->mutex);
  return core_->entries.size();
}

}  // namespace strake::apistore
