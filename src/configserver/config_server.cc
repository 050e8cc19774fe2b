#include "configserver/config_server.h"

#include "configserver/accept.h"

namespace strake::configserver {

namespace {

/// Machines ask with a head and nothing else.
constexpr std::size_t kMaxRequestHeadBytes = 16 * 1024;
constexpr std::size_t kMaxRequestBodyBytes = 16 * 1024;

void answer_empty(const net::Responder& responder, int status) { responder.send(net::Response{status, {}, ""}); }

bool reads_only(const net::ServerRequest& request) { return request.method == "GET" || request.method == "HEAD"; }

/// The name of the pool is the last segment, however many stand before it.
std::optional<std::string> asked_pool(const net::Target& target) {
  if (!target.path.starts_with("/config/") || target.segments.empty()) return std::nullopt;
  return target.segments.back();
}

std::string joined_accept(const net::Headers& headers) {
  std::string joined;
  for (const std::string_view line : headers.all("Accept")) {
    if (!joined.empty()) joined += ',';
    joined += line;
  }
  return joined;
}

}  // namespace

ConfigServer::ConfigServer(const AnswerShelf& shelf, ConfigServerOptions options)
    : shelf_(shelf), options_(std::move(options)) {}

ConfigServer::~ConfigServer() { stop(std::chrono::milliseconds(0)); }

Result<bool> ConfigServer::set_identity(const std::string& certificate_pem, const std::string& key_pem) {
  const std::scoped_lock lock(mutex_);
  if (stopped_ || (server_ && certificate_pem == certificate_pem_ && key_pem == key_pem_)) return false;
  if (server_) {
    STRAKE_CHECK_OK(server_->set_certificate(certificate_pem, key_pem));
  } else {
    net::ServerOptions options;
    options.address = options_.address;
    options.port = options_.port;
    options.certificate_pem = certificate_pem;
    options.key_pem = key_pem;
    options.tls = options_.tls;
    options.client_ca_pem = client_ca_pem_;
    options.max_header_bytes = kMaxRequestHeadBytes;
    options.max_body_bytes = kMaxRequestBodyBytes;
    options.gzip_above_bytes = 0;
    options.is_urgent = [](const net::ServerRequest& request) { return request.target.path == "/healthz"; };
    options.error_response = [](int status, std::string_view) { return net::Response{status, {}, ""}; };
    STRAKE_TRY(server_, net::HttpsServer::start(std::move(options), [this](const net::ServerRequest& request,
                                                                           const net::Responder& responder) {
                 handle(request, responder);
               }));
  }
  certificate_pem_ = certificate_pem;
  key_pem_ = key_pem;
  return true;
}

Status ConfigServer::set_client_ca(const std::string& client_ca_pem) {
  const std::scoped_lock lock(mutex_);
  if (client_ca_pem == client_ca_pem_) return {};
  if (server_) STRAKE_CHECK_OK(server_->set_client_ca(client_ca_pem));
  client_ca_pem_ = client_ca_pem;
  return {};
}

bool ConfigServer::listening() const {
  const std::scoped_lock lock(mutex_);
  return server_.has_value();
}

std::uint16_t ConfigServer::port() const {
  const std::scoped_lock lock(mutex_);
  return server_ ? server_->port() : std::uint16_t{0};
}

net::ServerStats ConfigServer::stats() const {
  const std::scoped_lock lock(mutex_);
  return server_ ? server_->stats() : net::ServerStats{};
}

void ConfigServer::stop(std::chrono::milliseconds grace) {
  std::optional<net::HttpsServer> server;
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    server.swap(server_);
  }
  if (server) server->stop(grace);
}

void ConfigServer::handle(const net::ServerRequest& request, const net::Responder& responder) const {
  if (!reads_only(request)) return answer_empty(responder, 405);
  if (request.target.path == "/healthz") return answer_empty(responder, 200);
  if (asked_pool(request.target)) return answer_config(request, responder);
  answer_empty(responder, 404);
}

Answer ConfigServer::answer_for(const net::ServerRequest& request, ConfigRequest& record) const {
  const auto version = negotiate(joined_accept(request.headers));
  if (!version.ok()) return {Outcome::kUnsupportedVersion, nullptr, version.error().to_string()};
  record.version = *version;
  const auto book = shelf_.current();
  if (!book) return {Outcome::kNotReady, nullptr, "nothing was read yet to answer with"};
  return book->find(record.pool, *version);
}

void ConfigServer::answer_config(const net::ServerRequest& request, const net::Responder& responder) const {
  ConfigRequest record;
  record.caller = request.peer_address;
  record.pool = asked_pool(request.target).value_or("");
  const auto book = shelf_.current();
  record.known_pool = book && book->pools.contains(record.pool);
  Pass pass;
  if (options_.gate != nullptr) {
    pass = options_.gate->check(request, record.pool);
    record.standing = pass.standing;
    record.credential = pass.credential;
  }
  // Who may not ask learns nothing else either: not which pools there are, nor whether they have configs.
  const Answer answer = pass.refusal ? Answer{*pass.refusal, nullptr, ""} : answer_for(request, record);
  if (!answer.body && options_.gate != nullptr) options_.gate->give_back(pass);
  record.outcome = answer.outcome;
  record.problem = answer.problem;
  if (answer.body) record.bytes = answer.body->size();
  if (options_.on_request) options_.on_request(record);
  if (answer.body) return responder.send({200, {{"Content-Type", "application/json"}}}, answer.body);
  net::Response refusal{status_of(answer.outcome), {}, ""};
  if (refusal.status == 401) refusal.headers.add("WWW-Authenticate", "Bearer");
  if (refusal.status == 429) refusal.headers.add("Retry-After", std::to_string(pass.retry_after.count()));
  responder.send(std::move(refusal));
}

}  // namespace strake::configserver
