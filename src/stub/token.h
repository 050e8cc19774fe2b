// Tokens of stubs: what a machine shows the config server to be given the config of one pool. Whoever keeps the records
// keeps hashes only: nobody can ask with what is written there.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/random.h"
#include "base/result.h"
#include "base/secret.h"

namespace strake::stub {

/// By it people, and programs that look for leaked secrets, know what they have found.
inline constexpr std::string_view kTokenPrefix = "strake-stub-";
inline constexpr std::size_t kMaxTokenBytes = 512;
inline constexpr std::size_t kMaxTokenComment = 200;
/// Machines are born with stubs that were written years ago; longer than this nobody keeps an eye on a token.
inline constexpr std::chrono::hours kLongestTokenLife{10 * 366 * 24};

/// A token as it can be shown: everything but itself.
struct TokenRecord {
  std::string id;      ///< names it in `revoke`, in logs and lists; no secret
  std::string pool;    ///< whose config it opens
  std::string sha256;  ///< of the token: hexadecimal, lower case
  std::chrono::sys_seconds created;
  std::chrono::sys_seconds expires;
  std::optional<std::uint64_t> max_uses{};
  std::optional<std::chrono::sys_seconds> revoked{};
  std::string comment{};

  bool operator==(const TokenRecord&) const = default;
};

struct TokenWish {
  std::string pool;
  std::chrono::seconds life{};
  std::optional<std::uint64_t> max_uses{};
  std::string comment{};
};

struct NewToken {
  TokenRecord record;
  Secret secret;  ///< handed over once, kept nowhere
};
/// kInvalidArgument for a wish that cannot be kept: no pool's name, a life too long, no uses.
Result<NewToken> create_token(Random& random, const TokenWish& wish, std::chrono::sys_seconds now);

std::string token_sha256(std::string_view token);

/// The token of a request's Authorization fields: nothing when there is none; kInvalidArgument when there are several,
/// or what is there is no bearer token.
Result<std::optional<std::string>> bearer_token(std::span<const std::string_view> authorization);
/// The value of the field.
std::string bearer_field(std::string_view token);

/// What a credential comes to for one pool: a closed list, for metrics, logs and lists.
enum class Standing {
  kGood,
  kNoToken,   ///< neither a token nor a certificate was shown
  kBadToken,  ///< nobody knows it, or it cannot be read
  kTokenExpired,
  kTokenRevoked,
  kTokenUsedUp,
  kBadCertificate,  ///< not from an authority that counts here, or its time is over
  kWrongPool,       ///< good, for another pool
};
inline constexpr std::size_t kStandings = 8;
std::string_view to_string(Standing standing);
Result<Standing> parse_standing(std::string_view text);

/// `uses` so far. A token without a limit has none to speak of.
Standing judge_token(const TokenRecord& record, std::string_view pool, std::chrono::sys_seconds now,
                     std::uint64_t uses);

/// When a token is to be replaced in the stubs that carry it: four fifths of its life. The old one counts to its own
/// end, for machines that were born with it.
std::chrono::sys_seconds renewal_time(const TokenRecord& record);
bool renewal_due(const TokenRecord& record, std::chrono::sys_seconds now);

}  // namespace strake::stub
