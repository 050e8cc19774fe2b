#include "kube/https_transport.h"

#include <algorithm>

#include "codec/base64.h"
#include "kube/api_error.h"

namespace strake::kube {

namespace {

constexpr std::size_t kMaxErrorBodyBytes = 1u << 20;

/// The quoted part of `299 - "text"` (RFC 9111 section 5.5).
std::string warning_text(std::string_view field) {
  const std::size_t open = field.find('"');
  if (open == std::string_view::npos) return std::string(field);
  std::string text;
  for (std::size_t i = open + 1; i < field.size() && field[i] != '"'; ++i) {
    if (field[i] == '\\' && i + 1 < field.size()) ++i;
    text += field[i];
  }
  return text;
}

}  // namespace

Error error_from_answer(int status, const net::Headers& headers, std::string_view body, runtime::WallTime now) {
  json::ParseLimits limits;
  limits.max_bytes = kMaxErrorBodyBytes;
  Result<json::Value> parsed = json::parse(body, limits);
  Error error = error_from_status(status, parsed.ok() ? *parsed : json::Value(body.substr(0, kMaxErrorBodyBytes)));
  if (const auto field = headers.get("Retry-After"); field && !error.retry_after()) {
    const auto delay = net::parse_retry_after(*field, std::chrono::time_point_cast<std::chrono::seconds>(now));
    if (delay) return std::move(error).with_retry_after(*delay);
  }
  return error;
}

Result<std::shared_ptr<HttpsTransport>> HttpsTransport::create(runtime::Runtime& runtime, ClusterAccess access,
                                                               HttpsOptions options) {
  STRAKE_TRY_CONTEXT(net::Url server, net::parse_url(access.server), "the API server's URL");
  if (!access.tls_server_name.empty()) {
    return error(Code::kUnsupported,
                 "tls-server-name: is not supported; connect to {} by the name in its certificate instead",
                 access.server);
  }
  while (server.path.ends_with('/')) server.path.pop_back();
  return std::shared_ptr<HttpsTransport>(
      new HttpsTransport(runtime, std::move(access), std::move(options), std::move(server)));
}

HttpsTransport::HttpsTransport(runtime::Runtime& runtime, ClusterAccess access, HttpsOptions options, net::Url server)
    : runtime_(runtime),
      access_(std::move(access)),
      options_(std::move(options)),
      server_(std::move(server)),
      credentials_(runtime, access_, options_.exec) {}

Result<std::shared_ptr<const net::HttpClient>> HttpsTransport::client_for(const Credentials& credentials) {
  std::lock_guard lock(mutex_);
  if (client_ && client_cert_pem_ == credentials.client_cert_pem && client_ca_pem_ == credentials.ca_pem)
    return client_;
  net::ClientOptions options;
  options.ca_pem = credentials.ca_pem;
  options.ca_sha256 = access_.ca_sha256;
  options.client_certificate_pem = credentials.client_cert_pem;
  options.client_key_pem = credentials.client_key_pem;
  options.user_agent = options_.user_agent;
  options.max_body_bytes = options_.max_body_bytes;
  options.max_redirects = 0;  // an API server has no reason to send us elsewhere
  if (!access_.proxy_url.empty()) options.proxy = net::ProxySettings{access_.proxy_url, access_.proxy_url, "", false};
  STRAKE_TRY_CONTEXT(net::HttpClient client, net::HttpClient::create(std::move(options)), "connecting to {}",
                     access_.server);
  client_ = std::make_shared<const net::HttpClient>(std::move(client));
  client_cert_pem_ = credentials.client_cert_pem;
  client_ca_pem_ = credentials.ca_pem;
  return client_;
}

Result<HttpsTransport::Prepared> HttpsTransport::prepare(const ApiRequest& request, const Call& call) {
  Prepared prepared;
  STRAKE_TRY(prepared.credentials, credentials_.current(call));
  STRAKE_TRY(prepared.client, client_for(prepared.credentials));

  net::Url url = server_;
  url.path += net::encode_path(request.path);
  for (const net::QueryParameter& parameter : request.query) url.add_query(parameter.name, parameter.value);
  prepared.request.method = request.method;
  prepared.request.url = url.to_string();
  prepared.request.body = request.body;
  net::Headers& headers = prepared.request.headers;
  headers.add("Accept", "application/json");
  if (!request.content_type.empty()) headers.add("Content-Type", request.content_type);
  if (!prepared.credentials.bearer_token.empty()) {
    headers.add("Authorization", "Bearer " + prepared.credentials.bearer_token);
  } else if (!prepared.credentials.username.empty()) {
    const std::string pair = prepared.credentials.username + ":" + prepared.credentials.password;
    headers.add("Authorization", "Basic " + codec::encode_base64(std::string_view(pair)));
  }
  if (!access_.impersonate_user.empty()) headers.add("Impersonate-User", access_.impersonate_user);
  if (!access_.impersonate_uid.empty()) headers.add("Impersonate-Uid", access_.impersonate_uid);
  for (const std::string& group : access_.impersonate_groups) headers.add("Impersonate-Group", group);
  return prepared;
}

Result<net::Response> HttpsTransport::send_once(const Prepared& prepared, const Call& call) {
  net::CallOptions options;
  options.timeout = options_.request_timeout;
  options.stop = call.stop;
  if (call.deadline) {
    const auto left = std::chrono::floor<std::chrono::milliseconds>(*call.deadline - runtime_.now());
    if (left <= std::chrono::milliseconds(0)) {
      return error(Code::kTimeout, "no time left to ask {}", access_.server).with_verdict(Verdict::kUnreachable);
    }
    options.timeout = left;
  }
  return prepared.client->send(prepared.request, options);
}

Result<json::Value> HttpsTransport::call(const ApiRequest& request, const Call& call) {
  unsigned tries = 0;
  unsigned logins = 0;
  while (true) {
    STRAKE_TRY(const Prepared prepared, prepare(request, call));
    Result<net::Response> response = send_once(prepared, call);
    ++tries;
    if (response.ok() && response->status >= 200 && response->status < 300) {
      report_warnings(response->headers);
      if (response->body.empty()) return json::Value();
      json::ParseLimits limits;
      limits.max_bytes = options_.max_body_bytes;
      return json::parse(response->body, limits).context("the answer of {}", access_.server);
    }
    const bool reached = response.ok();
    Error failure = reached
                        ? error_from_answer(response->status, response->headers, response->body, runtime_.wall_now())
                        : std::move(response).error();
    if (retry_login(failure, prepared.credentials, logins)) {
      ++logins;
      continue;
    }
    if (!request.is_read() || !retry_read(failure, reached, tries, call)) return failure;
  }
}

bool HttpsTransport::retry_login(const Error& failure, const Credentials& used, unsigned logins) {
  // A request that was not let in has not been acted upon, so even a write may be sent again.
  return failure.code() == Code::kUnauthenticated && logins == 0 && credentials_.refused(used);
}

bool HttpsTransport::retry_read(const Error& failure, bool reached_server, unsigned tried, const Call& call) {
  if (tried >= options_.max_tries || call.stop.stop_requested()) return false;
  const bool asked_to_wait = reached_server && failure.code() == Code::kExhausted && failure.retry_after();
  const bool connection_failed = !reached_server && failure.code() == Code::kUnavailable;
  if (!asked_to_wait && !connection_failed) return false;
  const auto delay = options_.backoff.delay(tried, runtime_.random().unit(), failure);
  // An answer the caller can use now is better than one that comes too late.
  if (call.deadline && runtime_.now() + delay >= *call.deadline) return false;
  return runtime_.sleep(delay, call.stop).ok();
}

void HttpsTransport::report_warnings(const net::Headers& headers) const {
  if (!options_.on_warning) return;
  for (const std::string_view field : headers.all("Warning")) options_.on_warning(warning_text(field));
}

}  // namespace strake::kube
