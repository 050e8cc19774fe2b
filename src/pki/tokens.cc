#include "pki/tokens.h"

#include <algorithm>

#include "base/fd.h"
#include "base/time.h"
#include "codec/digest.h"
#include "codec/json.h"

namespace strake::pki {

namespace {

constexpr std::size_t kMaxTokenFileBytes = 4u << 20;
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
    entry.id = json::find_string(item, {"id"}).value_or("");
    entry.sha256 = json::find_string(item, {"sha256"}).value_or("");
    entry.owner.user = json::find_string(item, {"user"}).value_or("");
    entry.owner.bound.purpose = json::find_string(item, {"purpose"}).value_or(std::string(kApiPurpose));
    entry.owner.bound.node = json::find_string(item, {"node"}).value_or("");
    STRAKE_TRY_CONTEXT(entry.owner.groups, group_names(item), "{}: token {}", path_.string(), entry.id);
    if (const auto expires = json::find_string(item, {"expires"})) {
      STRAKE_TRY_CONTEXT(entry.owner.expires, parse_rfc3339(*expires), "{}: token {}: expires", path_.string(),
                         entry.id);
    }
    if (entry.sha256.size() != kSha256HexDigits || entry.owner.user.empty()) {
      return error(Code::kCorrupt, "{}: token {}: sha256 or user is missing", path_.string(), entry.id);
    }
    entries.push_back(std::move(entry));
  }
  entries_ = std::move(entries);
  version_ = version;
  return {};
}

Status TokenFile::write() {
  json::Array list;
  for (const Entry& entry : entries_) {
    json::Array groups;
    for (const std::string& group : entry.owner.groups) groups.emplace_back(json::Value(group));
    json::Object item{{"id", entry.id},
                      {"sha256", entry.sha256},
                      {"user", entry.owner.user},
                      {"groups", std::move(groups)},
                      {"purpose", entry.owner.bound.purpose}};
    if (!entry.owner.bound.node.empty()) item["node"] = entry.owner.bound.node;
    if (entry.owner.expires) item["expires"] = format_rfc3339(*entry.owner.expires);
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
  std::erase_if(entries_, [&](const Entry& entry) { return entry.owner.expires && *entry.owner.expires <= now; });
  Issued issued;
  issued.id = random.name_suffix(10);
  issued.secret = kTokenPrefix;
  for (std::size_t i = 0; i < kSecretWords; ++i) issued.secret += fmt::format("{:016x}", random.next());
  entries_.push_back({issued.id, codec::sha256_hex(issued.secret), owner});
  STRAKE_CHECK_OK(write());
  return issued;
}

Status TokenFile::revoke(const std::string& id) {
  const std::lock_guard lock(mutex_);
  STRAKE_TRY(const FileLock writers, lock_for_change(path_));
  STRAKE_CHECK_OK(read_if_changed());
  if (std::erase_if(entries_, [&](const Entry& entry) { return entry.id == id; }) == 0) {
    return error(Code::kNotFound, "{} has no token {}", path_.string(), id);
  }
  return write();
}

Result<std::optional<TokenOwner>> TokenFile::owner_of(std::string_view secret, const TokenUse& use, WallTime now) {
  if (secret.empty() || secret.size() > kMaxTokenBytes) return std::optional<TokenOwner>();
  const std::string hash = codec::sha256_hex(secret);
  const std::lock_guard lock(mutex_);
  STRAKE_CHECK_OK(read_if_changed());
  std::optional<TokenOwner> owner;
  for (const Entry& entry : entries_) {
    const bool matches = equal_in_constant_time(entry.sha256, hash);
    const bool counts = (!entry.owner.expires || now < *entry.owner.expires) && allows(entry.owner.bound, use);
    if (matches && counts) owner = entry.owner;
  }
  return owner;
}

}  // namespace strake::pki
