#include "apistore/guard/user_guard.h"

#include <algorithm>

namespace strake::apistore {

namespace {

Error too_many(std::string_view user, std::string_view what, std::chrono::milliseconds wait) {
  return error(Code::kExhausted, "user \"{}\" has {}: try again later", user, what)
      .with_reason("TooManyRequests")
      .with_retry_after(wait);
}

constexpr std::chrono::seconds kTryAgain{1};

}  // namespace

unsigned UserGuard::cost(std::size_t bytes) const {
  return static_cast<unsigned>(std::min<std::size_t>(bytes / limits_.bytes_per_request, 1'000'000));
}

Status UserGuard::admit_request(const Caller& user, std::size_t body_bytes, runtime::TimePoint now) {
  if (user.is_admin()) return {};
  const std::lock_guard lock(mutex_);
  const runtime::Duration wait = requests_.take(user.user, 1 + cost(body_bytes), now);
  if (wait <= runtime::Duration(0)) return {};
  return too_many(
      user.user,
      fmt::format("sent more than {} requests a second, or as much in large ones", limits_.requests.per_second),
      std::chrono::ceil<std::chrono::milliseconds>(wait));
}

void UserGuard::charge_stored(const Caller& user, std::size_t bytes, runtime::TimePoint now) {
  if (user.is_admin() || cost(bytes) == 0) return;
  const std::lock_guard lock(mutex_);
  requests_.charge(user.user, cost(bytes), now);
}

Result<UserGuard::Hold> UserGuard::begin(const std::shared_ptr<Counts>& counts, const Caller& user, std::size_t limit,
                                         std::string_view what) {
  if (user.is_admin()) return Hold();
  {
    const std::lock_guard lock(counts->mutex);
    std::size_t& open = counts->open[user.user];
    if (open >= limit) return too_many(user.user, fmt::format("{} {} open, as many as it may", open, what), kTryAgain);
    ++open;
  }
  return Hold(counts.get(), [counts, name = user.user](const void*) {
    const std::lock_guard lock(counts->mutex);
    const auto found = counts->open.find(name);
    if (found != counts->open.end() && --found->second == 0) counts->open.erase(found);
  });
}

std::shared_ptr<net::ByteBudget> UserGuard::queue_share(const Caller& user) {
  if (user.is_admin()) return nullptr;
  const std::lock_guard lock(mutex_);
  std::weak_ptr<net::ByteBudget>& known = queues_[user.user];
  std::shared_ptr<net::ByteBudget> share = known.lock();
  if (share) return share;
  share = std::make_shared<net::ByteBudget>(limits_.queued_bytes, others_queue_);
  known = share;
  // A share lives while an answer holds it. Looked through each time their number has doubled: a little work a request.
  if (queues_.size() >= forget_queues_at_) {
    std::erase_if(queues_, [](const auto& entry) { return entry.second.expired(); });
    forget_queues_at_ = std::max<std::size_t>(64, 2 * queues_.size());
  }
  return share;
}

std::size_t UserGuard::remembered() const {
  const std::lock_guard lock(mutex_);
  return std::max(requests_.names(), queues_.size());
}

}  // namespace strake::apistore
