#include "pki/tokens.h"

#include <algorithm>

#include "base/fd.h"
#include "base/time.h"
#include "codec/digest.h"
#include "codec/json.h"

namespace strake::pki {

namespace {

constexpr std::size_t kMaxTokenFileBytes = 4u << 20;
constexpr std::size_t kMaxTokens = 5000;  // stays well within the size of the file
constexpr std::size_t kMaxTokenBytes = 512;
constexpr std::size_t kSecretWords = 4;  // of 64 bits
constexpr std::size_t kSha256HexDigits = 64;
constexpr std::string_view kTokenPrefix = "strake-";

Result<std::vector<std::string>> group_names(const json::Value& entry) {
  std::vector<std::string> names;
  const json::Value* groups = json::find(entry, {"groups"});
  if (groups == nullptr) return names;
  if (!groups->is_array()) return error(Code::kCorrupt, "groups is no list");
  for (const json::Value& group : groups->get_array()) {
    if (!group.is_string()) return error(Code::kCorrupt, "groups has an element that is no string");
    names.emplace_back(json::as_view(group.get_string()));
  }
  return names;
}

Result<std::optional<WallTime>> optional_time(const json::Value& entry, std::string_view field) {
  const auto text = json::find_string(entry, {field});
  if (!text) return std::optional<WallTime>();
  STRAKE_TRY_CONTEXT(const WallTime time, parse_rfc3339(*text), "{}", field);
  return std::optional(time);
}

bool allows(const TokenUse& bound, const TokenUse& use) {
  return bound.purpose == use.purpose && (bound.node.empty() || bound.node == use.node);
}

}  // namespace

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  const std::size_t size = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < size; ++i) {
    difference |= static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
  }
  return difference == 0;
}

std::string new_token_secret(Random& random, std::string_view prefix) {
  std::string secret(prefix);
  for (std::size_t i = 0; i < kSecretWords; ++i) secret += fmt::format("{:016x}", random.next());
  return secret;
}

Status TokenFile::read_if_changed() {
  STRAKE_TRY(const std::optional<FileVersion> version, file_version(path_));
  if (!version) {
    entries_.clear();
    version_.reset();
    return {};
  }
  if (version_ == version) return {};

  STRAKE_TRY(const std::string text, read_file(path_, kMaxTokenFileBytes));
  STRAKE_TRY_CONTEXT(const json::Value document, json::parse(text), "{}", path_.string());
  const json::Value* list = json::find(document, {"tokens"});
  if (list == nullptr || !list->is_array())
    return error(Code::kCorrupt, "{}: tokens is missing or no list", path_.string());
  std::vector<Entry> entries;
  for (const json::Value& item : list->get_array()) {
    Entry entry;
    TokenRecord& record = entry.record;
    record.id = json::find_string(item, {"id"}).value_or("");
    entry.sha256 = json::find_string(item, {"sha256"}).value_or("");
    record.owner.user = json::find_string(item, {"user"}).value_or("");
    record.owner.bound.purpose = json::find_string(item, {"purpose"}).value_or(std::string(kApiPurpose));
    record.owner.bound.node = json::find_string(item, {"node"}).value_or("");
    record.owner.node_role = json::find_string(item, {"nodeRole"}).value_or("");
    record.owner.trust = json::find_string(item, {"trust"}).value_or("");
    record.used_by_key = json::find_string(item, {"usedByKey"}).value_or("");
    STRAKE_TRY_CONTEXT(record.owner.groups, group_names(item), "{}: token {}", path_.string(), record.id);
    STRAKE_TRY_CONTEXT(record.owner.expires, optional_time(item, "expires"), "{}: token {}", path_.string(), record.id);
    STRAKE_TRY_CONTEXT(record.issued, optional_time(item, "issued"), "{}: token {}", path_.string(), record.id);
    STRAKE_TRY_CONTEXT(record.used, optional_time(item, "used"), "{}: token {}", path_.string(), record.id);
    if (entry.sha256.size() != kSha256HexDigits || record.owner.user.empty()) {
      return error(Code::kCorrupt, "{}: token {}: sha256 or user is missing", path_.string(), record.id);
    }
    entries.push_back(std::move(entry));
  }
  entries_ = std::move(entries);
  version_ = version;
  return {};
}

Status TokenFile::write() {
  json::Array list;
  for (const auto& [sha256, record] : entries_) {
    const TokenOwner& owner = record.owner;
    json::Array groups;
    for (const std::string& group : owner.groups) groups.emplace_back(json::Value(group));
    json::Object item{{"id", record.id},
                      {"sha256", sha256},
                      {"user", owner.user},
                      {"groups", std::move(groups)},
                      {"purpose", owner.bound.purpose}};
    if (!owner.bound.node.empty()) item["node"] = owner.bound.node;
    if (!owner.node_role.empty()) item["nodeRole"] = owner.node_role;
    if (!owner.trust.empty()) item["trust"] = owner.trust;
    if (owner.expires) item["expires"] = format_rfc3339(*owner.expires);
    if (record.issued) item["issued"] = format_rfc3339(*record.issued);
    if (!record.used_by_key.empty()) item["usedByKey"] = record.used_by_key;
    if (record.used) item["used"] = format_rfc3339(*record.used);
    list.push_back(std::move(item));
  }
  version_.reset();  // the next reader sees what is on disk
  return write_file_atomic(path_, json::write_pretty(json::Object{{"tokens", std::move(list)}}), 0600);
}

Result<TokenFile::Issued> TokenFile::issue(Random& random, const TokenOwner& owner, WallTime now) {
  if (owner.user.empty() || owner.bound.purpose.empty())
    return error(Code::kInvalidArgument, "a token needs a user and a purpose");
  const std::lock_guard lock(mutex_);
  STRAKE_TRY(const FileLock writers, lock_for_change(path_));
  STRAKE_CHECK_OK(read_if_changed());
  std::erase_if(entries_, [&](const Entry& entry) {
    const auto& expires = entry.record.owner.expires;
    return expires && *expires <= now;
  });
  if (entries_.size() >= kMaxTokens) {
    return error(Code::kExhausted, "{} holds {} tokens: revoke some first", path_.string(), entries_.size());
  }
  Issued issued;
  issued.id = random.name_suffix(10);
  issued.secret = new_token_secret(random, kTokenPrefix);
  entries_.push_back({codec::sha256_hex(issued.secret), {issued.id, owner, now, "", {}}});
  STRAKE_CHECK_OK(write());
  return issued;
}

Status TokenFile::revoke(const std::string& id) {
  const std::lock_guard lock(mutex_);
  STRAKE_TRY(const FileLock writers, lock_for_change(path_));
  STRAKE_CHECK_OK(read_if_changed());
  if (std::erase_if(entries_, [&](const Entry& entry) { return entry.record.id == id; }) == 0) {
    return error(Code::kNotFound, "{} has no token {}", path_.string(), id);
  }
  return write();
}

Result<bool> TokenFile::still_counts(std::string_view sha256, WallTime now) {
  const std::lock_guard lock(mutex_);
  STRAKE_CHECK_OK(read_if_changed());
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    const auto& expires = entry.record.owner.expires;
    return equal_in_constant_time(entry.sha256, sha256) && (!expires || now < *expires);
  });
}

template <typename Counts>
Result<std::optional<TokenRecord>> TokenFile::search(std::string_view secret, WallTime now, Counts counts) {
  if (secret.empty() || secret.size() > kMaxTokenBytes) return std::optional<TokenRecord>();
  const std::string hash = codec::sha256_hex(secret);
  const std::lock_guard lock(mutex_);
  STRAKE_CHECK_OK(read_if_changed());
  const Entry* found = nullptr;
  for (const Entry& entry : entries_) {
    const TokenOwner& owner = entry.record.owner;
    const bool matches = equal_in_constant_time(entry.sha256, hash);
    const bool good = (!owner.expires || now < *owner.expires) && counts(owner.bound);
    if (matches && good) found = &entry;
  }
  return found == nullptr ? std::optional<TokenRecord>() : found->record;
}

Result<std::optional<TokenOwner>> TokenFile::owner_of(std::string_view secret, const TokenUse& use, WallTime now) {
  STRAKE_TRY(const std::optional<TokenRecord> record,
             search(secret, now, [&](const TokenUse& bound) { return allows(bound, use); }));
  return record ? std::optional(record->owner) : std::nullopt;
}

Result<std::optional<TokenRecord>> TokenFile::find(std::string_view secret, std::string_view purpose, WallTime now) {
  return search(secret, now, [&](const TokenUse& bound) { return bound.purpose == purpose; });
}

Status TokenFile::use(const std::string& id, const std::string& key_sha256, WallTime now) {
  const std::lock_guard lock(mutex_);
  STRAKE_TRY(const FileLock writers, lock_for_change(path_));
  STRAKE_CHECK_OK(read_if_changed());
  for (Entry& entry : entries_) {
    TokenRecord& record = entry.record;
    if (record.id != id) continue;
    if (record.used_by_key == key_sha256) return {};
    if (!record.used_by_key.empty()) return error(Code::kConflict, "token {} has been used already", id);
    record.used_by_key = key_sha256;
    record.used = now;
    return write();
  }
  return error(Code::kNotFound, "{} has no token {}", path_.string(), id);
}

Result<std::vector<TokenRecord>> TokenFile::list() {
  const std::lock_guard lock(mutex_);
  STRAKE_CHECK_OK(read_if_changed());
  std::vector<TokenRecord> records;
  records.reserve(entries_.size());
  for (const Entry& entry : entries_) records.push_back(entry.record);
  return records;
}

}  // namespace strake::pki
