#include "stub/token.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/visible_text.h"
#include "codec/digest.h"
#include "kube/object.h"
#include "pki/tokens.h"

namespace strake::stub {

namespace {

constexpr std::size_t kTokenIdLength = 10;

constexpr std::array<std::string_view, kStandings> kStandingWords{
    "good",          "no-token",      "bad-token",       "token-expired",
    "token-revoked", "token-used-up", "bad-certificate", "wrong-pool"};

/// RFC 6750: letters, digits and these, "=" at the end.
bool is_token_character(char c) {
  return is_alphanumeric(c) || std::string_view("-._~+/=").find(c) != std::string_view::npos;
}

}  // namespace

Result<NewToken> create_token(Random& random, const TokenWish& wish, std::chrono::sys_seconds now) {
  if (!kube::is_object_name(wish.pool)) {
    return error(Code::kInvalidArgument, "'{}' cannot be a pool's name", clip_utf8(visible_text(wish.pool), 80));
  }
  if (wish.life <= std::chrono::seconds(0) || wish.life > kLongestTokenLife) {
    return error(Code::kInvalidArgument, "a token lives for a second at least and for {} hours at most",
                 kLongestTokenLife.count());
  }
  if (wish.max_uses == std::uint64_t{0}) return error(Code::kInvalidArgument, "a token of no uses would open nothing");
  if (wish.comment.size() > kMaxTokenComment) {
    return error(Code::kInvalidArgument, "a comment has at most {} bytes", kMaxTokenComment);
  }
  std::string secret = pki::new_token_secret(random, kTokenPrefix);
  TokenRecord record{random.name_suffix(kTokenIdLength),
                     wish.pool,
                     token_sha256(secret),
                     now,
                     now + wish.life,
                     wish.max_uses,
                     std::nullopt,
                     wish.comment};
  return NewToken{std::move(record), Secret(std::move(secret))};
}

std::string token_sha256(std::string_view token) { return codec::sha256_hex(token); }

Result<std::optional<std::string>> bearer_token(std::span<const std::string_view> authorization) {
  if (authorization.empty()) return std::optional<std::string>();
  if (authorization.size() > 1) return error(Code::kInvalidArgument, "there are several Authorization fields");
  const std::string_view field = trimmed(authorization.front());
  const std::size_t blank = field.find(' ');
  if (blank == std::string_view::npos || !equal_ignoring_case(field.substr(0, blank), "Bearer")) {
    return error(Code::kInvalidArgument, "the Authorization field is not of the form 'Bearer TOKEN'");
  }
  const std::string_view token = trimmed(field.substr(blank));
  if (token.empty() || token.size() > kMaxTokenBytes || !std::ranges::all_of(token, is_token_character)) {
    return error(Code::kInvalidArgument, "the Authorization field has no token in it");
  }
  return std::optional(std::string(token));
}

std::string bearer_field(std::string_view token) { return fmt::format("Bearer {}", token); }

std::string_view to_string(Standing standing) { return kStandingWords[static_cast<std::size_t>(standing)]; }

Result<Standing> parse_standing(std::string_view text) {
  const auto* const found = std::ranges::find(kStandingWords, text);
  if (found == kStandingWords.end()) return error(Code::kInvalidArgument, "no standing has that name");
  return static_cast<Standing>(found - kStandingWords.begin());
}

Standing judge_token(const TokenRecord& record, std::string_view pool, std::chrono::sys_seconds now,
                     std::uint64_t uses) {
  if (record.revoked) return Standing::kTokenRevoked;
  if (now >= record.expires) return Standing::kTokenExpired;
  if (record.pool != pool) return Standing::kWrongPool;
  if (record.max_uses && uses >= *record.max_uses) return Standing::kTokenUsedUp;
  return Standing::kGood;
}

std::chrono::sys_seconds renewal_time(const TokenRecord& record) {
  return record.created + (record.expires - record.created) / 5 * 4;
}

bool renewal_due(const TokenRecord& record, std::chrono::sys_seconds now) {
  return record.revoked.has_value() || now >= renewal_time(record);
}

}  // namespace strake::stub
