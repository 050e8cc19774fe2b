#include "stub/access_book.h"

#include <algorithm>

#include "api/kinds.h"
#include "api/roles.h"
#include "base/text.h"
#include "base/time.h"
#include "codec/base64.h"
#include "codec/compress.h"
#include "net/x509.h"
#include "pki/tokens.h"

namespace strake::stub {

namespace {

constexpr std::size_t kMaxAccessBytes = std::size_t{1} << 20;  // what a Secret holds
constexpr std::size_t kMaxTokensText = std::size_t{16} << 20;  // 20,000 with the longest comments
constexpr std::size_t kCompressAbove = std::size_t{64} << 10;  // what people still read with kubectl
constexpr std::size_t kSha256Digits = 64;
constexpr std::size_t kMaxTokenId = 40;

/// The first 64 bits of a hash. Which bucket a hash falls into says nothing about a token: nobody can choose a token by
/// the hash it is to have. Within a bucket hashes are compared in constant time.
std::uint64_t bucket_of(std::string_view sha256) {
  std::uint64_t bucket = 0;
  for (const char c : sha256.substr(0, 16)) bucket = bucket << 4U | static_cast<unsigned>(hex_digit_value(c) & 15);
  return bucket;
}

bool is_sha256(std::string_view text) {
  return text.size() == kSha256Digits &&
         std::ranges::all_of(text, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

Result<std::chrono::sys_seconds> token_time(const json::Value& item, std::string_view field) {
  const auto text = json::find_string(item, {field});
  if (!text) return error(Code::kCorrupt, "{} is missing", field);
  const auto time = parse_rfc3339(*text);
  if (!time.ok()) return error(Code::kCorrupt, "{} is no time", field);
  return std::chrono::floor<std::chrono::seconds>(*time);
}

Result<TokenRecord> read_record(const json::Value& item) {
  TokenRecord record;
  record.id = json::find_string(item, {"id"}).value_or("");
  record.pool = json::find_string(item, {"pool"}).value_or("");
  record.sha256 = json::find_string(item, {"sha256"}).value_or("");
  record.comment = json::find_string(item, {"comment"}).value_or("");
  const bool named =
      !record.id.empty() && record.id.size() <= kMaxTokenId && std::ranges::all_of(record.id, is_alphanumeric);
  if (!named) return error(Code::kCorrupt, "id is missing or no word");
  if (!kube::is_object_name(record.pool)) return error(Code::kCorrupt, "pool is missing or no name");
  if (!is_sha256(record.sha256)) return error(Code::kCorrupt, "sha256 is missing or no hash");
  if (record.comment.size() > kMaxTokenComment) return error(Code::kCorrupt, "comment is too long");
  STRAKE_TRY(record.created, token_time(item, "created"));
  STRAKE_TRY(record.expires, token_time(item, "expires"));
  if (json::find(item, {"revoked"}) != nullptr) {
    STRAKE_TRY(record.revoked, token_time(item, "revoked"));
  }
  if (json::find(item, {"maxUses"}) != nullptr) {
    const auto uses = json::find_int(item, {"maxUses"});
    if (!uses || *uses <= 0) return error(Code::kCorrupt, "maxUses is no number of uses");
    record.max_uses = static_cast<std::uint64_t>(*uses);
  }
  return record;
}

json::Value record_json(const TokenRecord& record) {
  json::Object item{{"id", record.id},
                    {"pool", record.pool},
                    {"sha256", record.sha256},
                    {"created", format_rfc3339(record.created)},
                    {"expires", format_rfc3339(record.expires)}};
  if (record.max_uses) item["maxUses"] = *record.max_uses;
  if (record.revoked) item["revoked"] = format_rfc3339(*record.revoked);
  if (!record.comment.empty()) item["comment"] = record.comment;
  return item;
}

Result<std::vector<TokenRecord>> read_records(std::string_view bytes) {
  std::string unzipped;
  if (codec::detect_compression(std::as_bytes(std::span(bytes))) == codec::Compression::kGzip) {
    STRAKE_TRY(unzipped, codec::gunzip(bytes, kMaxTokensText));
    bytes = unzipped;
  }
  // What is wrong with the text is not shown: it could be anything.
  const auto document = json::parse(bytes, {.max_bytes = kMaxTokensText, .max_depth = 8});
  if (!document.ok()) return error(Code::kCorrupt, "it is no JSON");
  const json::Value* list = json::find(*document, {"tokens"});
  if (list == nullptr || !list->is_array()) return error(Code::kCorrupt, "it has no list of tokens");
  const json::Array& items = list->get_array();
  if (items.size() > kMaxTokens) return error(Code::kExhausted, "it has more than {} tokens", kMaxTokens);
  std::vector<TokenRecord> records;
  records.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    STRAKE_TRY_CONTEXT(TokenRecord record, read_record(items[i]), "tokens[{}]", i);
    records.push_back(std::move(record));
  }
  return records;
}

Result<std::optional<std::string>> member_of(const kube::Object& secret, std::string_view name) {
  const json::Value* member = json::find(secret.json(), {"data", name});
  if (member == nullptr || member->is_null()) return std::optional<std::string>();
  if (!member->is_string()) return error(Code::kCorrupt, "data.{} is no text", name);
  if (member->get_string().size() > 2 * kMaxAccessBytes) return error(Code::kExhausted, "data.{} is too long", name);
  auto bytes = codec::decode_base64(json::as_view(member->get_string()));
  if (!bytes.ok()) return error(Code::kCorrupt, "data.{} is no base64", name);
  return std::optional(*std::move(bytes));
}

bool ended_long_ago(const TokenRecord& record, std::chrono::sys_seconds now) {
  const auto ended = record.revoked ? std::min(*record.revoked, record.expires) : record.expires;
  return ended + kRememberEnded < now;
}

}  // namespace

std::string_view to_string(AccessMode mode) { return kAccessModeWords[static_cast<std::size_t>(mode)]; }

Result<AccessMode> parse_access_mode(std::string_view text) {
  const auto* const found = std::ranges::find(kAccessModeWords, text);
  if (found == std::end(kAccessModeWords)) return error(Code::kInvalidArgument, "the mode is neither open nor require");
  return static_cast<AccessMode>(found - std::begin(kAccessModeWords));
}

AccessBook::AccessBook(AccessMode mode, std::vector<TokenRecord> tokens, std::string client_ca_pem)
    : mode_(mode), tokens_(std::move(tokens)), client_ca_pem_(std::move(client_ca_pem)) {
  by_hash_.reserve(tokens_.size());
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    by_hash_.emplace(bucket_of(tokens_[i].sha256), i);
    counts_uses_ = counts_uses_ || tokens_[i].max_uses.has_value();
  }
}

const TokenRecord* AccessBook::find_by_hash(std::string_view sha256) const {
  const TokenRecord* found = nullptr;
  const auto [begin, end] = by_hash_.equal_range(bucket_of(sha256));
  for (auto at = begin; at != end; ++at) {
    const TokenRecord& record = tokens_[at->second];
    if (pki::equal_in_constant_time(record.sha256, sha256)) found = &record;
  }
  return found;
}

const TokenRecord* AccessBook::find_by_id(std::string_view id) const {
  const auto found = std::ranges::find(tokens_, id, &TokenRecord::id);
  return found == tokens_.end() ? nullptr : &*found;
}

Standing judge_organizations(const std::vector<std::string>& organizations, std::string_view pool) {
  const bool opens = !pool.empty() && std::ranges::any_of(organizations, [&](std::string_view organization) {
    return organization.starts_with(kPoolOrganization) && organization.substr(kPoolOrganization.size()) == pool;
  });
  return opens ? Standing::kGood : Standing::kWrongPool;
}

kube::ObjectKey access_key() {
  return {std::string(api::kMachineConfigNamespace), std::string(api::serving_object::kAccess)};
}

Result<AccessBook> read_access(const kube::Object& secret) {
  STRAKE_TRY(const std::optional<std::string> mode_text, member_of(secret, "mode"));
  if (!mode_text) return error(Code::kCorrupt, "data.mode is missing");
  const auto mode = parse_access_mode(trimmed(*mode_text));
  if (!mode.ok()) return error(Code::kCorrupt, "data.mode is neither open nor require");
  STRAKE_TRY(const std::optional<std::string> tokens_text, member_of(secret, "tokens"));
  std::vector<TokenRecord> records;
  if (tokens_text) {
    STRAKE_TRY_CONTEXT(records, read_records(*tokens_text), "data.tokens");
  }
  STRAKE_TRY(std::optional<std::string> authorities, member_of(secret, "client-ca.crt"));
  if (authorities && !net::parse_bundle(*authorities).ok()) {
    return error(Code::kCorrupt, "data.client-ca.crt holds no certificate authority");
  }
  return AccessBook(*mode, std::move(records), authorities.value_or(""));
}

Result<AccessBook> read_token_file(std::string_view text) {
  std::vector<TokenRecord> records;
  std::size_t number = 0;
  for (const std::string_view whole : split(text, '\n')) {
    ++number;
    std::string_view line = trimmed(whole);
    if (line.empty() || line.starts_with('#')) continue;
    const std::string pool(take_until(line, ' '));
    const std::string field = bearer_field(trimmed(line));
    const std::string_view fields[] = {field};
    const auto token = bearer_token(fields);
    if (!kube::is_object_name(pool) || !token.ok() || records.size() == kMaxTokens) {
      return error(Code::kInvalidArgument, "line {} is not of the form POOL TOKEN", number);
    }
    records.push_back(
        {fmt::format("line{}", number), pool, token_sha256(**token), {}, std::chrono::sys_seconds::max()});
  }
  return AccessBook(AccessMode::kRequire, std::move(records), "");
}

Result<json::Value> access_data(const AccessBook& book) {
  json::Array list;
  list.reserve(book.tokens().size());
  for (const TokenRecord& record : book.tokens()) list.push_back(record_json(record));
  std::string tokens = json::write(json::Object{{"tokens", std::move(list)}});
  if (tokens.size() > kCompressAbove) tokens = codec::gzip(tokens);
  const std::size_t bytes = tokens.size() + book.client_ca_pem().size();
  if (book.tokens().size() > kMaxTokens || bytes > kMaxAccessBytes - 1024) {
    return error(Code::kExhausted, "a Secret does not hold {} tokens; revoke some, or let one serve several machines",
                 book.tokens().size());
  }
  json::Object data{{"mode", codec::encode_base64(to_string(book.mode()))}, {"tokens", codec::encode_base64(tokens)}};
  // null takes it out of a Secret that had one.
  data["client-ca.crt"] =
      book.client_ca_pem().empty() ? json::Value(nullptr) : json::Value(codec::encode_base64(book.client_ca_pem()));
  return data;
}

AccessBook with_new_token(const AccessBook& book, const TokenRecord& record, std::chrono::sys_seconds now) {
  std::vector<TokenRecord> tokens;
  tokens.reserve(book.tokens().size() + 1);
  for (const TokenRecord& known : book.tokens()) {
    if (!ended_long_ago(known, now)) tokens.push_back(known);
  }
  tokens.push_back(record);
  return {book.mode(), std::move(tokens), book.client_ca_pem()};
}

Result<AccessBook> with_revoked(const AccessBook& book, std::string_view id, std::chrono::sys_seconds now) {
  std::vector<TokenRecord> tokens = book.tokens();
  const auto found = std::ranges::find(tokens, id, &TokenRecord::id);
  if (found == tokens.end()) {
    return error(Code::kNotFound, "there is no token {}; `strake stub token list` shows those there are", id);
  }
  if (!found->revoked) found->revoked = now;
  return AccessBook(book.mode(), std::move(tokens), book.client_ca_pem());
}

}  // namespace strake::stub
