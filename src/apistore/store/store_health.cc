#include "apistore/store/store_health.h"

#include <charconv>

#include "apistore/store/database.h"

namespace strake::apistore {

std::string StoreDamage::to_string() const {
  return fmt::format("the database {} is damaged{}: {}; nothing is written any more: {}", file.string(),
                     page ? fmt::format(" (page {})", *page) : "", what, kDamageAdvice);
}

std::optional<std::int64_t> page_in_verdict(std::string_view verdict) {
  for (const std::string_view word : {"Page ", "page "}) {
    for (std::size_t at = verdict.find(word); at != std::string_view::npos; at = verdict.find(word, at + 1)) {
      const std::string_view rest = verdict.substr(at + word.size());
      std::int64_t page = 0;
      const auto [end, failed] = std::from_chars(rest.data(), rest.data() + rest.size(), page);
      if (failed == std::errc() && page > 0) return page;
    }
  }
  return std::nullopt;
}

void StoreHealth::note(const Error& error) {
  if (error.reason() != kStorageDamaged) return;
  std::optional<StoreDamage> first;
  {
    const std::lock_guard lock(mutex_);
    if (damage_) return;
    damage_ = first = StoreDamage{file_, std::nullopt, error.to_string()};
    check_requested_ = true;
  }
  if (hook_) hook_(*first);
}

void StoreHealth::note_verdict(std::string_view verdict) {
  std::optional<StoreDamage> found;
  {
    const std::lock_guard lock(mutex_);
    if (damage_ && damage_->page) return;
    const std::optional<std::int64_t> page = page_in_verdict(verdict);
    if (damage_ && !page) return;
    damage_ = found = StoreDamage{file_, page, std::string(verdict)};
  }
  if (hook_) hook_(*found);
}

std::optional<StoreDamage> StoreHealth::damage() const {
  const std::lock_guard lock(mutex_);
  return damage_;
}

Status StoreHealth::check_writable() const {
  const std::lock_guard lock(mutex_);
  if (!damage_) return {};
  return Error(Code::kUnavailable, damage_->to_string()).with_reason("ServiceUnavailable");
}

bool StoreHealth::take_check_request() {
  const std::lock_guard lock(mutex_);
  return std::exchange(check_requested_, false);
}

}  // namespace strake::apistore
