#include "apistore/rest/authentication.h"

#include <algorithm>

#include "base/fd.h"
#include "base/time.h"
#include "codec/digest.h"
#include "codec/json.h"

namespace strake::apistore::rest {

namespace {

constexpr std::size_t kMaxTokenFileBytes = 4u << 20;
constexpr std::size_t kMaxTokenBytes = 512;
constexpr std::size_t kSecretWords = 4;  // of 64 bits
constexpr std::string_view kTokenPrefix = "strake-";
constexpr std::string_view kAuthenticatedGroup = "system:authenticated";

Error unauthorized(std::string_view why) {
  return error(Code::kUnauthenticated, "Unauthorized{}{}", why.empty() ? "" : ": ", why).with_reason("Unauthorized");
}

Caller authenticated_caller(std::string user, std::vector<std::string> groups) {
  groups.emplace_back(kAuthenticatedGroup);
  return {std::move(user), std::move(groups)};
}

/// nullopt when the field is absent; "" when it is there without a token.
std::optional<std::string_view> bearer_token(const net::Headers& headers) {
  constexpr std::string_view kScheme = "bearer ";
  const auto field = headers.get("Authorization");
  if (!field) return std::nullopt;
  if (field->size() <= kScheme.size() || !net::equal_ignoring_case(field->substr(0, kScheme.size()), kScheme))
    return "";
  return field->substr(kScheme.size());
}

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
  std::error_code failure;
  Stamp stamp;
  stamp.written = std::filesystem::last_write_time(path_, failure);
  if (!failure) stamp.size_bytes = std::filesystem::file_size(path_, failure);
  if (failure == std::errc::no_such_file_or_directory) {
    entries_.clear();
    stamp_.reset();
    return {};
  }
  if (failure) return errno_error(failure.value(), path_.string());
  if (stamp_ == stamp) return {};

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
    STRAKE_TRY_CONTEXT(entry.owner.groups, group_names(item), "{}: token {}", path_.string(), entry.id);
    if (const auto expires = json::find_string(item, {"expires"})) {
      STRAKE_TRY_CONTEXT(entry.owner.expires, parse_rfc3339(*expires), "{}: token {}: expires", path_.string(),
                         entry.id);
    }
    if (entry.sha256.size() != 64 || entry.owner.user.empty()) {
      return error(Code::kCorrupt, "{}: token {}: sha256 or user is missing", path_.string(), entry.id);
    }
    entries.push_back(std::move(entry));
  }
  entries_ = std::move(entries);
  stamp_ = stamp;
  return {};
}

Status TokenFile::write() {
  json::Array list;
  for (const Entry& entry : entries_) {
    json::Array groups;
    for (const std::string& group : entry.owner.groups) groups.emplace_back(json::Value(group));
    json::Object item{
        {"id", entry.id}, {"sha256", entry.sha256}, {"user", entry.owner.user}, {"groups", std::move(groups)}};
    if (entry.owner.expires) item["expires"] = format_rfc3339(*entry.owner.expires);
    list.push_back(std::move(item));
  }
  stamp_.reset();  // the next reader sees what is on disk
  return write_file_atomic(path_, json::write_pretty(json::Object{{"tokens", std::move(list)}}), 0600);
}

Result<TokenFile::Issued> TokenFile::issue(Random& random, const TokenOwner& owner, WallTime now) {
  const std::lock_guard lock(mutex_);
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
  STRAKE_CHECK_OK(read_if_changed());
  if (std::erase_if(entries_, [&](const Entry& entry) { return entry.id == id; }) == 0) {
    return error(Code::kNotFound, "{} has no token {}", path_.string(), id);
  }
  return write();
}

Result<std::optional<TokenOwner>> TokenFile::owner_of(std::string_view secret, WallTime now) {
  if (secret.empty() || secret.size() > kMaxTokenBytes) return std::optional<TokenOwner>();
  const std::string hash = codec::sha256_hex(secret);
  const std::lock_guard lock(mutex_);
  STRAKE_CHECK_OK(read_if_changed());
  std::optional<TokenOwner> owner;
  for (const Entry& entry : entries_) {
    const bool matches = equal_in_constant_time(entry.sha256, hash);
    if (matches && (!entry.owner.expires || now < *entry.owner.expires)) owner = entry.owner;
  }
  return owner;
}

Result<Identity> authenticate(const net::ServerRequest& request, TokenFile* tokens, WallTime now) {
  if (request.client_certificate) {
    const net::PeerCertificate& certificate = *request.client_certificate;
    if (certificate.common_name.empty()) return unauthorized("the client certificate has no common name");
    return Identity{authenticated_caller(certificate.common_name, certificate.organizations), certificate.not_after};
  }
  if (const auto token = bearer_token(request.headers)) {
    std::optional<TokenOwner> owner;
    if (tokens != nullptr) {
      STRAKE_TRY_CONTEXT(owner, tokens->owner_of(*token, now), "looking up a token");
    }
    if (!owner) return unauthorized("the token is unknown or has expired");
    return Identity{authenticated_caller(owner->user, owner->groups), owner->expires};
  }
  if (!request.client_certificate_problem.empty()) {
    return unauthorized(fmt::format("the client certificate is not accepted: {}", request.client_certificate_problem));
  }
  return unauthorized("");
}

Result<Caller> acting_caller(const Caller& caller, const net::Headers& headers) {
  const auto user = headers.get("Impersonate-User");
  const auto groups = headers.all("Impersonate-Group");
  if (!user) {
    if (groups.empty()) return caller;
    return error(Code::kInvalidArgument, "Impersonate-Group needs Impersonate-User").with_reason("BadRequest");
  }
  if (!caller.is_admin()) {
    return error(Code::kDenied,
                 "users \"{}\" is forbidden: User \"{}\" cannot impersonate resource \"users\" in API group \"\" at "
                 "the cluster scope",
                 *user, caller.user)
        .with_reason("Forbidden");
  }
  return authenticated_caller(std::string(*user), {groups.begin(), groups.end()});
}

}  // namespace strake::apistore::rest
