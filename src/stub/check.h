// What is wrong with a stub, or will be: can a machine read it, reach the server it names, and trust what answers?
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stub/access_book.h"
#include "stub/stub.h"

namespace strake::stub {

enum class Severity { kFine, kWarning, kError };
std::string_view to_string(Severity severity);

struct StubFinding {
  Severity severity = Severity::kError;
  std::string_view rule;  ///< a closed list, see below
  std::string what;
  std::string next;  ///< what to do

  bool operator==(const StubFinding&) const = default;
};

namespace stub_rule {
inline constexpr std::string_view kUnreadable = "unreadable";         ///< no stub at all
inline constexpr std::string_view kOldSpec = "old-spec";              ///< images of the last years cannot read it
inline constexpr std::string_view kNoPointer = "no-pointer";          ///< it names no config server
inline constexpr std::string_view kNotHttps = "not-https";            ///< anybody on the way can change what is fetched
inline constexpr std::string_view kNoAuthority = "no-authority";      ///< it trusts only what is in the image
inline constexpr std::string_view kBadAuthority = "bad-authority";    ///< an entry cannot be read
inline constexpr std::string_view kAuthorityEnds = "authority-ends";  ///< has ended, or does so soon
inline constexpr std::string_view kUnknownHost = "unknown-host";  ///< the server's certificate does not name its host
inline constexpr std::string_view kUntrusted = "untrusted";       ///< the stub does not trust the server
inline constexpr std::string_view kServerEnds = "server-ends";    ///< the server's certificate has ended, or soon
inline constexpr std::string_view kNoPool = "no-pool";            ///< the cluster has no pool of that name
inline constexpr std::string_view kNoToken = "no-token";          ///< refused once tokens are required
inline constexpr std::string_view kBadToken = "bad-token";        ///< unknown, revoked or used up
inline constexpr std::string_view kWrongPool = "wrong-pool";      ///< its token is for another pool
inline constexpr std::string_view kTokenEnds = "token-ends";      ///< has ended, or four fifths of its life are over
inline constexpr std::string_view kNoAnswer = "no-answer";        ///< nobody answers at the server it names
inline constexpr std::string_view kNoCertificate = "no-certificate";  ///< the server has none that can be used
}  // namespace stub_rule

/// What the config server shows, as far as it is known.
struct ServerIdentity {
  std::vector<net::Certificate> chain;  ///< its own first
};

struct StubCheckInput {
  const Stub& stub;
  std::chrono::sys_seconds now;
  const ServerIdentity* server = nullptr;                        ///< nullptr: not known
  std::optional<std::vector<std::string>> pools = std::nullopt;  ///< of the cluster
  const AccessBook* access = nullptr;                            ///< nullptr: not known
  const std::map<std::string, std::uint64_t>* uses = nullptr;    ///< of counted tokens, where they are known
};

/// A certificate that ends sooner than this is a warning.
inline constexpr std::chrono::hours kEndsSoon{30 * 24};

/// Errors first. Nothing: a machine of today reads it, and is answered.
std::vector<StubFinding> check_stub(const StubCheckInput& input);

/// What is wrong with a server's certificate whatever the stubs are: no names, not for servers, its end.
std::vector<StubFinding> check_server_certificate(const net::Certificate& certificate, std::chrono::sys_seconds now);

/// Whether a rule is about certificates and who trusts them.
bool is_about_trust(std::string_view rule);
/// Whether a rule is about tokens and who may ask.
bool is_about_tokens(std::string_view rule);

/// The worst; kFine of none.
Severity worst_of(std::span<const StubFinding> findings);

}  // namespace strake::stub
