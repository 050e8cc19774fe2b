// Tokens in the stubs Strake keeps: each pool's carries one, and another before that ends, so that machines are let in
// whether or not the config server asks for a token.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "base/runtime.h"
#include "kube/kube_api.h"
#include "stub/access_book.h"

namespace strake::stub {

/// A stub's token is good for so long; the next one comes after four fifths of it. The old one counts to its own end,
/// for machines that were born with it.
inline constexpr std::chrono::hours kStubTokenLife{90 * 24};

/// A managed stub that is to carry another token.
struct TokenWanted {
  std::string pool;
  kube::ObjectPtr secret;
};
/// Those whose token is missing, unknown, ended, revoked, for another pool, or soon over. What is no stub is left
/// alone.
std::vector<TokenWanted> tokens_wanted(const AccessBook& book, std::span<const kube::ObjectPtr> secrets,
                                       std::chrono::sys_seconds now);

/// Gives each of them a token: recorded first, so that no stub carries one that nobody knows. Returns the Secrets it
/// wrote. A stub that changed meanwhile is left for the next look, and its new token revoked if nobody can have it.
Result<std::vector<kube::Object>> renew_stub_tokens(runtime::Runtime& runtime, kube::KubeApi& api,
                                                    std::span<const kube::ObjectPtr> secrets, const kube::Call& call);

}  // namespace strake::stub
