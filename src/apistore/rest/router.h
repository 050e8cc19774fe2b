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

#include "apistore/rest/authentication.h"
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
  /// Ends watches and answers "not ready" from now on.
  void stop();

 private:
  Router(Service& service, RouterOptions options, Tables tables);

  /// What a request was about, for counting. Names of objects do not belong here.
  struct Subject {
    std::string verb;
    std::string resource;
  };
  std::optional<net::Response> answer(const net::ServerRequest& request, const net::Responder& responder,
                                      Subject& subject);
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
  WatchHub watches_;
  ResourceHandler resources_;
  net::Registry counters_;
  const std::function<std::string()> more_metrics_;
  std::atomic<bool> stopping_ = false;
};

}  // namespace strake::apistore::rest
