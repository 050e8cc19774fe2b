#include "configserver/gate.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "net/endpoint.h"

namespace strake::configserver {

namespace {

constexpr std::chrono::minutes kSameUse{2};
constexpr std::size_t kMaxRecentUses = 10'000;

Outcome refusal_of(stub::Standing standing) {
  switch (standing) {
    case stub::Standing::kGood: return Outcome::kServed;
    case stub::Standing::kNoToken: return Outcome::kNoToken;
    case stub::Standing::kBadToken: return Outcome::kBadToken;
    case stub::Standing::kTokenExpired: return Outcome::kTokenExpired;
    case stub::Standing::kTokenRevoked: return Outcome::kTokenRevoked;
    case stub::Standing::kTokenUsedUp: return Outcome::kTokenUsedUp;
    case stub::Standing::kBadCertificate: return Outcome::kBadCertificate;
    case stub::Standing::kWrongPool: return Outcome::kWrongPool;
  }
  return Outcome::kBadToken;
}

std::uint64_t uses_in(const std::map<std::string, std::uint64_t>& uses, const std::string& id) {
  const auto found = uses.find(id);
  return found == uses.end() ? 0 : found->second;
}

std::chrono::seconds rounded_up(runtime::Duration wait) {
  return std::max(std::chrono::ceil<std::chrono::seconds>(wait), std::chrono::seconds(1));
}

}  // namespace

std::string address_of(std::string_view peer) {
  const auto endpoint = net::parse_endpoint(peer);
  if (!endpoint.ok()) return std::string(peer);
  constexpr std::string_view kMapped = "::ffff:";
  const std::string& address = endpoint->address;
  std::array<std::uint8_t, 4> four{};
  if (address.starts_with(kMapped) && inet_pton(AF_INET, address.c_str() + kMapped.size(), four.data()) == 1) {
    return address.substr(kMapped.size());
  }
  return address;
}

std::string address_group(std::string_view address) {
  std::array<std::uint8_t, 16> six{};
  const std::string plain(address.substr(0, address.find('%')));
  if (inet_pton(AF_INET6, plain.c_str(), six.data()) != 1) return std::string(address);
  std::fill(six.begin() + 8, six.end(), std::uint8_t{0});
  std::array<char, INET6_ADDRSTRLEN> text{};
  return std::string(inet_ntop(AF_INET6, six.data(), text.data(), text.size())) + "/64";
}

Gate::Gate(runtime::Runtime& runtime, GateOptions options)
    : runtime_(runtime), options_(options), refusals_(options.refused) {}

void Gate::set_book(std::shared_ptr<const stub::AccessBook> book) {
  const std::scoped_lock lock(mutex_);
  book_.swap(book);
  std::erase_if(own_uses_, [&](const auto& use) { return book_->find_by_id(use.first) == nullptr; });
}

std::shared_ptr<const stub::AccessBook> Gate::book() const {
  const std::scoped_lock lock(mutex_);
  return book_;
}

std::optional<stub::AccessMode> Gate::mode() const {
  const auto book = this->book();
  if (!book) return std::nullopt;
  return options_.always_require ? stub::AccessMode::kRequire : book->mode();
}

/// Under the lock.
bool Gate::repeats_use(const UseKey& use, runtime::TimePoint now) const {
  const auto last = recent_uses_.find(use);
  return last != recent_uses_.end() && last->second + kSameUse > now;
}

/// Under the lock.
void Gate::remember_use(const UseKey& use, runtime::TimePoint now) {
  if (recent_uses_.size() >= kMaxRecentUses) {
    std::erase_if(recent_uses_, [&](const auto& known) { return known.second + kSameUse <= now; });
  }
  // With no room left a repetition counts again: better a use too many than memory without end.
  if (recent_uses_.size() < kMaxRecentUses) recent_uses_.insert_or_assign(use, now);
}

Gate::Judged Gate::judge_token(const stub::AccessBook& book, const net::ServerRequest& request, std::string_view pool) {
  const auto token = stub::bearer_token(request.headers.all("Authorization"));
  if (!token.ok()) return {stub::Standing::kBadToken, "", ""};
  if (!*token) return {};
  const stub::TokenRecord* record = book.find_by_hash(stub::token_sha256(**token));
  if (record == nullptr) return {stub::Standing::kBadToken, "", ""};
  const auto now = std::chrono::floor<std::chrono::seconds>(runtime_.wall_now());
  if (!record->max_uses) return {stub::judge_token(*record, pool, now, 0), record->id, ""};
  const std::scoped_lock lock(mutex_);
  const std::uint64_t uses = uses_in(own_uses_, record->id) + uses_in(other_uses_, record->id);
  const stub::Standing unused = stub::judge_token(*record, pool, now, 0);
  if (unused != stub::Standing::kGood) return {unused, record->id, ""};
  if (request.method != "GET") return {stub::judge_token(*record, pool, now, uses), record->id, ""};
  const UseKey use{record->id, address_of(request.peer_address)};
  if (repeats_use(use, runtime_.now())) return {unused, record->id, ""};
  const stub::Standing standing = stub::judge_token(*record, pool, now, uses);
  if (standing != stub::Standing::kGood) return {standing, record->id, ""};
  ++own_uses_[record->id];
  remember_use(use, runtime_.now());
  return {standing, record->id, record->id};
}

Gate::Judged Gate::judge(const stub::AccessBook& book, const net::ServerRequest& request, std::string_view pool) {
  Judged judged = judge_token(book, request, pool);
  if (judged.standing == stub::Standing::kGood) return judged;
  if (const auto& certificate = request.client_certificate) {
    const stub::Standing standing = stub::judge_organizations(certificate->organizations, pool);
    if (standing == stub::Standing::kGood || judged.standing == stub::Standing::kNoToken) {
      return {standing, certificate->common_name, ""};
    }
  } else if (!request.client_certificate_problem.empty() && judged.standing == stub::Standing::kNoToken) {
    judged.standing = stub::Standing::kBadCertificate;
  }
  return judged;
}

Pass Gate::check(const net::ServerRequest& request, std::string_view pool) {
  Pass pass;
  const auto book = this->book();
  if (!book) {
    pass.refusal = Outcome::kAccessUnknown;
    return pass;
  }
  Judged judged = judge(*book, request, pool);
  pass.standing = judged.standing;
  pass.credential = std::move(judged.credential);
  pass.counted_token = std::move(judged.counted_token);
  if (!pass.counted_token.empty()) pass.counted_address = address_of(request.peer_address);
  const bool required = options_.always_require || book->mode() == stub::AccessMode::kRequire;
  if (!required || pass.standing == stub::Standing::kGood) return pass;
  pass.refusal = refusal_of(pass.standing);
  const std::string group = address_group(address_of(request.peer_address));
  const std::scoped_lock lock(mutex_);
  const runtime::Duration wait = refusals_.take(group, 1, runtime_.now());
  if (wait > runtime::Duration(0)) {
    pass.refusal = Outcome::kTooManyRefused;
    pass.retry_after = rounded_up(wait);
  }
  return pass;
}

void Gate::give_back(const Pass& pass) {
  if (pass.counted_token.empty()) return;
  const std::scoped_lock lock(mutex_);
  if (const auto own = own_uses_.find(pass.counted_token); own != own_uses_.end() && own->second > 0) --own->second;
  recent_uses_.erase(UseKey{pass.counted_token, pass.counted_address});
}

std::map<std::string, std::uint64_t> Gate::own_uses() const {
  const std::scoped_lock lock(mutex_);
  return own_uses_;
}

void Gate::set_other_uses(std::map<std::string, std::uint64_t> uses) {
  const std::scoped_lock lock(mutex_);
  other_uses_.swap(uses);
}

}  // namespace strake::configserver
