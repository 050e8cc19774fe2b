// WWW-Authenticate: what a registry wants to be shown (RFC 9110 section 11.6.1), read from a stranger's header.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace strake::oci {

inline constexpr std::size_t kMaxChallengeBytes = 16u << 10;
inline constexpr std::size_t kMaxChallengeParts = 64;  ///< challenges, and parameters of one

struct Challenge {
  std::string scheme;                             ///< in lower case: "basic", "bearer"
  std::map<std::string, std::string> parameters;  ///< names in lower case, values unquoted

  bool operator==(const Challenge&) const = default;
};

/// All challenges of one header field. The short form ("Negotiate dG9rZW4=") is kept under the empty name. A parameter
/// given twice is refused: two readers could choose differently.
Result<std::vector<Challenge>> parse_challenges(std::string_view header);

}  // namespace strake::oci
