// Enrolment: credentials issued, listed, renewed and revoked over HTTP, and the authority rotated.
//
//   GET  /strake/v1/access/credentials       administrators    all that can be listed
//   POST /strake/v1/access/tokens            administrators    a bearer token, or one to join with
//   POST /strake/v1/access/certificates      administrators    signs a request
//   POST /strake/v1/access/revocations       administrators    by id, user or node
//   GET  /strake/v1/access/authority         everybody known   who is trusted; to administrators also who is missing
//   POST /strake/v1/access/authority         administrators    the next step of a rotation
//   POST /strake/v1/access/join              a join token      makes the Node and signs the agent's request
//   POST /strake/v1/access/renewals          the certificate   signs a new request for whom the certificate is for
//
// Private keys never come here: clients send requests (PKCS#10). Whom a certificate is for is decided by the order, the
// token or the certificate before it, never by the request.
#pragma once

#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "apistore/rest/authentication.h"
#include "apistore/service/service.h"
#include "net/http_server.h"
#include "pki/authority.h"
#include "pki/issued.h"
#include "pki/revocations.h"
#include "pki/tokens.h"

namespace strake::apistore::rest {

struct EnrolmentOptions {
  pki::Authority* authority = nullptr;  ///< nullptr: nothing of this is served
  std::mutex* authority_mutex = nullptr;
  std::filesystem::path issued_file;
  std::function<void()> authority_changed;  ///< after a step of a rotation, without the mutex
  std::chrono::hours agent_lifetime{24 * 30};
};

/// Who is lost when the rotation takes its next step, and why.
struct LeftBehind {
  std::string id;
  std::string user;
  std::string node;
  std::string why;
};

class Enrolment {
 public:
  Enrolment(Service& service, pki::TokenFile& tokens, pki::Revocations& revocations, EnrolmentOptions options);

  static bool is_ours(const net::ServerRequest& request);
  /// The one call that is not made by somebody known yet.
  static bool is_join(const net::ServerRequest& request);

  /// Before a body is read: whoever has no good token need not send it.
  std::optional<net::Refusal> refuse_join(const net::ServerRequest& head);
  net::Response join(const net::ServerRequest& request);
  net::Response answer(const Caller& caller, const net::ServerRequest& request);

 private:
  struct Signed {
    std::string certificate_pem;
    std::string trusted_pem;
    pki::IssuedCertificate record;
  };

  Result<json::Value> dispatch(const Caller& caller, const net::ServerRequest& request);
  Result<json::Value> list();
  Result<json::Value> issue_token(const net::ServerRequest& request);
  Result<json::Value> issue_certificate(const net::ServerRequest& request);
  Result<json::Value> revoke(const net::ServerRequest& request);
  Result<json::Value> show_authority(const Caller& caller);
  Result<json::Value> rotate(const net::ServerRequest& request);
  Result<json::Value> renew(const net::ServerRequest& request);
  Result<json::Value> admit(const net::ServerRequest& request);

  Result<pki::TokenRecord> join_token(const net::ServerRequest& request);
  Status make_node(const pki::TokenRecord& token);
  Status check_free(const pki::TokenRecord& token);
  Result<Signed> sign(const net::CertificateRequest& request, const pki::Subject& subject, std::chrono::hours lifetime);
  Status check_repeated_join(const pki::IssuedCredential& earlier);
  Status revoke_replaced(const std::optional<pki::IssuedCertificate>& gone, const std::string& reason);
  Status revoke_certificate(pki::IssuedCredential credential, const std::string& reason);
  Result<std::vector<LeftBehind>> left_behind();
  WallTime now() { return service_.runtime().wall_now(); }

  Service& service_;
  pki::TokenFile& tokens_;
  pki::Revocations& revocations_;
  pki::IssuedCredentials issued_;
  const EnrolmentOptions options_;
  std::mutex join_mutex_;  ///< one key at a time comes with a token
};

}  // namespace strake::apistore::rest
