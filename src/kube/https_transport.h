// One API server over HTTPS: credentials, retries, and answers turned into values or errors. What HttpsApi and
// discovery share.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/runtime.h"
#include "codec/json.h"
#include "kube/cluster_access.h"
#include "kube/credentials.h"
#include "kube/kube_api.h"
#include "net/http.h"
#include "net/http_client.h"
#include "net/retry.h"
#include "net/url.h"

namespace strake::kube {

struct HttpsOptions {
  std::string user_agent = "strake";
  std::chrono::milliseconds request_timeout{60'000};  ///< for calls that bring no deadline
  std::size_t max_body_bytes = 64u << 20;
  std::size_t max_watch_line_bytes = 4u << 20;
  std::size_t watch_buffer_events = 256;  ///< the stream is not read further while this many wait
  unsigned max_tries = 5;                 ///< of reads, see kube_api.h
  net::BackoffPolicy backoff{std::chrono::milliseconds(200), 2.0, std::chrono::seconds(10), 0.5};
  ExecOptions exec = exec_options_from_process();
  std::function<void(const std::string& warning)> on_warning;  ///< what the server warns of (HTTP Warning fields)
};

/// A request below the server's URL.
struct ApiRequest {
  std::string method = "GET";
  std::vector<std::string> path;  ///< decoded segments
  net::Query query;
  std::string body;
  std::string content_type;

  bool is_read() const { return method == "GET"; }
};

class HttpsTransport {
 public:
  static Result<std::shared_ptr<HttpsTransport>> create(runtime::Runtime& runtime, ClusterAccess access,
                                                        HttpsOptions options);

  /// The parsed body of a 2xx answer; null when it is empty.
  Result<json::Value> call(const ApiRequest& request, const Call& call);

  /// A request ready to be streamed, with the client to send it.
  struct Prepared {
    std::shared_ptr<const net::HttpClient> client;
    net::Request request;
    Credentials credentials;
  };
  Result<Prepared> prepare(const ApiRequest& request, const Call& call);

  /// What a refused or failed attempt means: true when another one is due, after the wait this call makes.
  bool retry_read(const Error& failure, bool reached_server, unsigned tried, const Call& call);
  /// After a 401: true when there are other credentials to try.
  bool retry_login(const Error& failure, const Credentials& used, unsigned logins);

  runtime::Runtime& runtime() { return runtime_; }
  const HttpsOptions& options() const { return options_; }
  const ClusterAccess& access() const { return access_; }

 private:
  HttpsTransport(runtime::Runtime& runtime, ClusterAccess access, HttpsOptions options, net::Url server);
  Result<std::shared_ptr<const net::HttpClient>> client_for(const Credentials& credentials);
  Result<net::Response> send_once(const Prepared& prepared, const Call& call);
  void report_warnings(const net::Headers& headers) const;

  runtime::Runtime& runtime_;
  const ClusterAccess access_;
  const HttpsOptions options_;
  const net::Url server_;
  CredentialSource credentials_;

  std::mutex mutex_;
  std::shared_ptr<const net::HttpClient> client_;
  std::string client_cert_pem_, client_ca_pem_;  ///< of client_
};

/// The error an answer of 400 or more stands for, with its Retry-After.
Error error_from_answer(int status, const net::Headers& headers, std::string_view body, runtime::WallTime now);

}  // namespace strake::kube
