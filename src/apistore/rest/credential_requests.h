// What is asked about credentials at /strake/v1/access, read from the bodies of requests and checked. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "api/roles.h"
#include "base/result.h"

namespace strake::apistore::rest {

inline constexpr std::size_t kMaxCredentialRequestBytes = 128u << 10;

/// {"role", "user" or "node", "lifetimeSeconds", "join", "nodeRole"}
struct TokenRequest {
  api::CredentialSubject subject;
  std::chrono::seconds lifetime{};
  bool join = false;      ///< to be turned into a certificate by `strake agent join`
  std::string node_role;  ///< of the Node that is made then
};
Result<TokenRequest> parse_token_request(std::string_view body);

/// {"role", "user" or "node", "lifetimeSeconds", "request"}
struct CertificateOrder {
  api::CredentialSubject subject;
  std::chrono::hours lifetime{};
  std::string request_pem;
};
Result<CertificateOrder> parse_certificate_order(std::string_view body);

/// {"request"}: the request of an agent that joins, or of a client that renews.
Result<std::string> parse_signing_request(std::string_view body);

/// {"id"} or {"user"} or {"node"}, and {"reason"}
struct RevocationRequest {
  std::string id;
  std::string user;
  std::string node;
  std::string reason;
};
Result<RevocationRequest> parse_revocation_request(std::string_view body);

/// {"from", "leaveBehind"}: the step the asker saw, so that two of them do not take two steps.
struct RotationRequest {
  std::string from;
  bool leave_behind = false;
};
Result<RotationRequest> parse_rotation_request(std::string_view body);

}  // namespace strake::apistore::rest
