// Router: every request of the API server, from the raw HTTP request to its answer.
//
//   /livez /readyz /healthz        anybody
//   /version /api... /apis... (discovery), /openapi/v3    everybody who is somebody
//   /api/v1/..., /apis/GROUP/VERSION/...                  resources; the service asks who may
//   /metrics                       administrators
//   /strake/v1/access/...          credentials (enrolment.h)
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "apistore/guard/audit_log.h"
#include "apistore/guard/connection_register.h"
#include "apistore/guard/user_guard.h"
#include "apistore/rest/authentication.h"
#include "apistore/rest/credential_sweep.h"
#include "apistore/rest/discovery.h"
#include "apistore/rest/enrolment.h"
#include "apistore/rest/openapi.h"
#include "apistore/rest/resource_handler.h"
#include "apistore/rest/table.h"
#include "apistore/rest/watch_hub.h"
#include "apistore/service/service.h"
#include "net/http_server.h"
#include "net/metrics.h"

namespace strake::apistore::rest {

struct RouterOptions {
  std::string program_version;
  std::filesystem::path token_file;       ///< empty: no tokens
  std::filesystem::path revocation_file;  ///< empty: no certificate is revoked
  WatchHubOptions watches;
  std::function<std::string()> more_metrics;
  EnrolmentOptions enrolment;  ///< without an authority: no credentials are issued
  UserLimits user_limits;
  AuditLog* audit = nullptr;  ///< null: none is kept. Must outlive the router
};

class Router {
 public:
  /// kInvalidArgument when a kind of the registry cannot be shown. The service must outlive the router.
  static Result<std::unique_ptr<Router>> make(Service& service, RouterOptions options);

  void handle(const net::ServerRequest& request, const net::Responder& responder);
  /// Before a body is read: who is unknown is told so at once.
  std::optional<net::Refusal> refuse_unknown(const net::ServerRequest& head);
  /// Answered under any load.
  static bool is_health_check(const net::ServerRequest& request);

  pki::TokenFile& tokens() { return tokens_; }
  /// To be called every second or so: ends what revoked and expired credentials hold open.
  Status sweep_credentials();
  /// Ends watches and answers "not ready" from now on.
  void stop();

 private:
  Router(Service& service, RouterOptions options, Tables tables);

  /// What a request was about.
  struct Subject {
    std::string verb = "other";  ///< these two for counting: names of objects do not belong here
    std::string resource = {};
    AuditRecord record = {};
    bool by_administrator = false;
    bool is_health_check = false;
  };
  std::optional<net::Response> answer(const net::ServerRequest& request, const net::Responder& responder,
                                      Subject& subject);
  /// Whether this user may have a request answered now.
  Status admit(const net::ServerRequest& request, const Identity& identity, const net::Responder& responder);
  void write_down(Subject& subject, const net::ServerRequest& request, int code, std::size_t answer_bytes,
                  runtime::Duration taken);
  std::optional<net::Response> health(const net::ServerRequest& request);
  Result<net::Response> open_api(const net::ServerRequest& request) const;
  Result<net::Response> metrics(const Caller& caller);
  Status check_ready();

  Service& service_;
  const Tables tables_;
  const Discovery discovery_;
  const OpenApi open_api_;
  pki::TokenFile tokens_;
  pki::Revocations revocations_;
  const Credentials credentials_;
  const std::unique_ptr<Enrolment> enrolment_;  ///< nullptr: not served
  UserGuard guard_;
  ConnectionRegister connections_;
  CredentialSweep sweep_;
  AuditLog* const audit_;
  WatchHub watches_;
  ResourceHandler resources_;
  net::Registry counters_;
  const std::function<std::string()> more_metrics_;
  std::atomic<bool> stopping_ = false;
};

}  // namespace strake::apistore::rest
